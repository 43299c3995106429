//! Text to JSON to an Agent Card: nothing panics, what is taken reads the same again, and it makes a prompt.

#![no_main]

use inbox_wire::{Known, PromptParts};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(value) = inbox_wire::decode(text) else {
        return;
    };
    let problems = inbox_wire::validate_card(&value, &Known::default());
    match inbox_wire::parse_card(&value) {
        Ok(card) => {
            let again = serde_json::to_value(&card).expect("a card is JSON");
            assert_eq!(inbox_wire::parse_card(&again).as_ref(), Ok(&card));
            let parts = PromptParts {
                card: Some(&card),
                ..PromptParts::default()
            };
            assert!(inbox_wire::prompt(&parts).starts_with("You are "));
        }
        Err(_) => assert!(!problems.is_empty()),
    }
});
