//! Text to JSON to a Wire: nothing panics, and what is taken comes back as it was.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(value) = inbox_wire::decode(text) else {
        return;
    };
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(text)
            .ok()
            .as_ref(),
        Some(&value)
    );
    match inbox_wire::parse(&value) {
        Ok(wire) => assert_eq!(wire.json(), &value),
        Err(problems) => assert!(!problems.is_empty()),
    }
    if let Ok(schema) = inbox_wire::ContractSchema::new(&value) {
        let _ = schema.check(&value);
    }
});
