//! What a fuzzer feeds: text that becomes a page, and what comes with a request. See `fuzz/`.

use serde_json::Value;

/// The page that a message's text becomes.
pub fn markdown(text: &str) -> String {
    crate::console::markdown_of(text)
}

/// Reads a part of a path or of a query; and a payload, where it is one.
pub fn request(text: &str) -> Option<String> {
    if let Ok(value) = serde_json::from_str::<Value>(text) {
        crate::console::payload_of(&value);
    }
    crate::console::decoded(text)
}
