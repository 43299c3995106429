//! Bytes to the messages of a mailbox: nothing panics, every line is taken or reported, and what is taken
//! twice is the same.

#![no_main]

use inbox_ops::exchange::{Source, claude_teams, mailbox};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let _ = Source::of_text(bytes);
    let batch = mailbox::decode(bytes, bytes);
    assert_eq!(batch, mailbox::decode(bytes, bytes));
    for mut message in batch.messages {
        assert!(!message.uid.is_empty());
        let _ = mailbox::Original::take(&mut message);
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = claude_teams::decode(&[("lead.json".to_owned(), text.to_owned())]);
    }
});
