//! Bytes to a transaction of Hedera's: what is taken is all that was signed.

#![no_main]

use inbox_hedera::key::{PrivateKey, PublicKey};
use inbox_hedera::transaction::Signed;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(signed) = Signed::read(bytes) {
        let again = inbox_hedera::wire::loses(&signed.body_bytes, &signed.body_bytes);
        assert_eq!(again, None);
        assert!(signed.body_bytes.len() <= bytes.len());
    }
    let text = String::from_utf8_lossy(bytes);
    if let Ok(key) = text.parse::<PublicKey>() {
        assert_eq!(key.to_der().parse(), Ok(key));
    }
    if let Ok(key) = text.parse::<PrivateKey>() {
        assert!(key.reveal().parse::<PrivateKey>().is_ok());
    }
});
