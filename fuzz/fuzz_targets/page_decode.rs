//! Text to a page of the console: nothing panics, and nothing in it acts.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let html = inbox_surfaces::fuzzing::markdown(text).to_lowercase();
    for active in ["<script", "<img", "<iframe", "<style", "href=\"javascript", " onerror=\""] {
        assert!(!html.contains(active), "{html}");
    }
    inbox_surfaces::fuzzing::request(text);
});
