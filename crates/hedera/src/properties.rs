//! What holds of everything that is read from a network, whatever it is: messages, keys, ids, times.

use proptest::prelude::*;
use prost::Message;

use crate::damage::{cases, damaged, damaged_text};
use crate::key::{Algorithm, PrivateKey, PublicKey, unhex};
use crate::proto::{
    self, Data, Key, SignedTransaction, SubmitMessageBody, TransactionBody, TransactionId,
};
use crate::transaction::{Signed, whole};
use crate::wire::{loses, louder};

const ED25519: &str = "302e020100300506032b657004220420d763df96caea22192acf37ab5eae5d7b5c2bf11fb67c0f5f4b9ac8f1eeb0fa20";
const PUBLIC: &str =
    "302a300506032b65700321006b6f4f2f2a8a7f0b4d6e6cf5f1b9a2a5b9a2b6f4c6a2e0d1f3a4b5c6d7e8f901";

fn signer() -> PrivateKey {
    ED25519.parse().expect("a key")
}

fn transactions() -> Vec<Vec<u8>> {
    let id: TransactionId = "0.0.2@1700000000.000000001".parse().expect("an id");
    let data = Data::SubmitMessage(SubmitMessageBody {
        topic_id: Some(proto::TopicId::of(1001)),
        message: b"hello".to_vec(),
        chunk_info: None,
    });
    let body = TransactionBody::new(id, proto::AccountId::of(3), 100, data);
    let key = Key::from(&signer().public().expect("a key"));
    let tree = Key::threshold(1, vec![Key::list(vec![key.clone()]), key]);
    let signed = body.sign([&signer()]).expect("it is signed");
    vec![
        signed.encode_to_vec(),
        body.encode_to_vec(),
        tree.encode_to_vec(),
    ]
}

proptest! {
    #![proptest_config(cases(800))]

    #[test]
    fn whatever_bytes_are_they_are_a_message_or_none(bytes in damaged(transactions()), again in damaged(transactions())) {
        if let Ok(signed) = Signed::read(&bytes) {
            // What is read is all that was signed.
            prop_assert_eq!(loses(&signed.body_bytes, &signed.body.encode_to_vec()), None);
            let _ = signed.is_signed_by(&signer().public().expect("a key"));
            let id = signed.body.transaction_id.unwrap_or_default().to_string();
            prop_assert!(id.len() < 20_000);
        }
        let _ = (whole::<SignedTransaction>(&bytes), whole::<TransactionBody>(&bytes), whole::<proto::SchedulableBody>(&bytes));
        if let Ok(key) = Key::decode(bytes.as_slice()) {
            let _ = (key.is_valid(), key.leaves().len(), key.is_satisfied(&|_| true), key.is_removal());
        }
        if let Some(loud) = louder(&bytes, &again) {
            prop_assert!(loud.len() <= 8 * bytes.len() + 16);
        }
        let path = loses(&bytes, &again);
        prop_assert!(path.is_none_or(|path| path.len() <= 64));
    }

    #[test]
    fn a_key_is_read_again_as_it_was_and_never_repeated(text in damaged_text(vec![
        ED25519, PUBLIC, "0x105d050185ccb907fba04dd92d8de9e32c18305e097ab41dadda21489a211524",
        "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINdj35bK6iIZKs83q16uXXtcK/Eftn\n-----END PRIVATE KEY-----",
    ])) {
        match text.parse::<PrivateKey>() {
            Ok(key) => {
                let again: PrivateKey = key.reveal().parse().expect("what is written is read");
                prop_assert_eq!(again.reveal(), key.reveal());
                let shown = format!("{key:?}");
                prop_assert!(!shown.contains(&key.reveal()[40..]));
                prop_assert!(key.public().is_ok() && key.sign(b"x").is_ok());
            }
            // What is wrong is said without any of its text.
            Err(error) => prop_assert!(text.len() < 12 || !error.to_string().contains(&text)),
        }
        if let Ok(key) = text.parse::<PublicKey>() {
            prop_assert_eq!(key.to_der().parse::<PublicKey>(), Ok(key));
        }
        if let Ok(bytes) = unhex(&text) {
            prop_assert_eq!(crate::key::hex(&bytes), text.to_ascii_lowercase());
        }
    }

    #[test]
    fn keys_of_any_bytes_check_signatures_of_any_bytes(
        bytes in proptest::collection::vec(any::<u8>(), 30..36),
        signature in proptest::collection::vec(any::<u8>(), 0..70),
    ) {
        for algorithm in [Algorithm::Ed25519, Algorithm::Ecdsa] {
            if let Ok(key) = PublicKey::from_bytes(algorithm, &bytes) {
                prop_assert!(!key.verifies(b"hello", &signature));
            }
            let _ = PrivateKey::from_bytes(algorithm, &bytes);
        }
    }

    #[test]
    fn a_transactions_id_is_read_again_as_it_was(text in damaged_text(vec![
        "0.0.1234@1700000000.000000001", "0.0.1234@1700000000.000000001?scheduled/3",
    ])) {
        match text.parse::<TransactionId>() {
            Ok(id) => prop_assert_eq!(id.to_string(), text),
            Err(error) => prop_assert!(error.to_string().len() < 1_500),
        }
    }

    #[test]
    fn times_and_ids_at_the_ends_of_numbers_are_shown(
        seconds in any::<i64>(), nanos in any::<i32>(), more in any::<u32>(), number in any::<i64>(),
    ) {
        let time = proto::Timestamp { seconds, nanos };
        let _ = (time.to_string(), time.time(), time.later(more).to_string());
        let _ = (proto::AccountId::of(number).to_string(), proto::AccountId::of(number).id(), proto::TopicId::of(number).id());
        let id = TransactionId { valid_start: Some(time), account_id: Some(proto::AccountId::of(number)), scheduled: true, nonce: nanos };
        let _ = id.to_string();
    }
}

/// What is damaged was whole.
#[test]
fn a_transaction_is_read_before_it_is_damaged() {
    assert!(Signed::read(&transactions()[0]).is_ok());
}
