//! Text to the place of a store: nothing panics, and a password is in nothing that is shown.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    inbox_store::fuzzing::url(text);
    // A good URL with this in its password: no piece of it that is long enough to be known is shown.
    let plain: String = text.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
    if plain.len() >= 12 {
        let shown = inbox_store::fuzzing::url(&format!("postgres://ada:{plain}@db/work"));
        assert!(!shown.contains(&plain), "{shown}");
    }
});
