//! Bytes to an HCS-1 file: as the messages of its topic, a memo first, and as what a file holds compressed. Nothing
//! panics or grows beyond its cap, and what is taken has the hash that its memo names.

#![no_main]

use base64::Engine as _;
use inbox_hcs::{Algorithm, Collector, FileMemo, Hash, Keys, Limits};
use libfuzzer_sys::fuzz_target;

fn gather<'m>(memo: FileMemo, messages: impl Iterator<Item = &'m [u8]>) {
    let mut collector = Collector::new(memo, Limits::default());
    for message in messages {
        if collector.add(message).is_err() {
            return;
        }
    }
    if let Ok((file, _)) = collector.finish(Keys::VALID) {
        assert_eq!(Hash::of(&file.content), memo.hash);
        assert!(file.content.len() <= Limits::default().content);
    }
}

fuzz_target!(|bytes: &[u8]| {
    let mut lines = bytes.split(|&byte| byte == b'\n');
    let first = lines.next().and_then(|line| std::str::from_utf8(line).ok());
    if let Some(memo) = first.and_then(|line| line.parse().ok()) {
        gather(memo, lines);
    }
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    let message = format!(r#"{{"o":0,"c":"data:text/plain;base64,{text}"}}"#);
    for algorithm in Algorithm::ALL {
        let memo = FileMemo {
            hash: Hash::of(b"hello"),
            algorithm,
        };
        gather(memo, std::iter::once(message.as_bytes()));
    }
});
