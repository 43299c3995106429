//! What holds of the readers that others' bytes reach, whatever they are: proofs, hashes, pieces, envelopes, profiles of registries.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::damage::{cases, damaged, damaged_text};
use crate::{
    AccountId, AccountMemo, Anchor, Assembler, Data, Envelope, Hrl, Link, Piece, Proof,
    ProvenMessage, RegistryProfile, RunningHash, Sequence, Submission, Timestamp, TopicId,
    TopicMemo, TransactionMemo,
};

fn topic(number: u64) -> TopicId {
    TopicId::new(0, 0, number).unwrap()
}

fn account(number: u64) -> AccountId {
    AccountId::new(0, 0, number).unwrap()
}

fn sequence(number: u64) -> Sequence {
    Sequence::new(number).unwrap()
}

/// A message in two pieces, with one of somebody else behind it, on a topic that has six before.
fn proof() -> Proof {
    let said = br#"{"p":"hcs-10","op":"message","operator_id":"0.0.5@0.0.6","data":"{\"a\":1}"}"#;
    let before = Anchor {
        sequence: 6,
        hash: RunningHash::new(&[7; 48]).unwrap(),
    };
    let start = Timestamp::new(1_700_000_000, 1).unwrap();
    let mut hash = before.hash;
    let parts = [&said[..40], &said[40..], b"other"];
    let links = (7_u64..).zip(parts).map(|(number, bytes)| {
        let is_other = number == 9;
        let time = Timestamp::new(1_700_000_000 + number, 5).unwrap();
        let submission = Submission {
            payer: account(6),
            topic: topic(5),
            time,
            sequence: sequence(number),
            message: bytes,
        };
        hash = hash.next(&submission);
        Link {
            sequence: sequence(number),
            time,
            payer: account(6),
            digest: crate::Hashed::from(&submission).message,
            bytes: (!is_other).then(|| bytes.to_vec()),
            piece: (!is_other).then_some(Piece {
                payer: account(6),
                valid_start: start,
                number: u32::try_from(number - 6).unwrap(),
                total: 2,
            }),
            hash,
        }
    });
    Proof {
        network: "local".into(),
        topic: topic(5),
        links: links.collect(),
        said: ProvenMessage {
            sequence: sequence(8),
            first: sequence(7),
            time: Timestamp::new(1_700_000_008, 5).unwrap(),
            payer: account(6),
            transaction: Some(format!("0.0.6@{start}")),
            content: said.to_vec(),
        },
        before,
        file: None,
        stored: json!({ "subject": "x" }),
    }
}

#[test]
fn a_proof_that_is_whole_is_taken_and_one_after_the_last_number_is_refused() {
    let (read, _) = Proof::check(&proof().write()).unwrap();
    assert_eq!(read, proof());
    let mut last = proof();
    last.before.sequence = u64::MAX;
    let refused = Proof::check(&last.write()).unwrap_err();
    assert_eq!(refused.field(), "before");
}

fn envelope() -> String {
    json!({ "message_type": "task", "subject": "s", "payload": { "a": [1] }, "ref_id": "T4", "ref_type": "task",
        "priority": 2 })
    .to_string()
}

const TEXTS: &[&str] = &[
    "hcs://1/0.0.12345",
    "hcs-10:0:60:0:0.0.5",
    "hcs-11:hcs://1/0.0.5",
    "hcs-10:op:6:3",
    "0.0.5@1700000000.000000001",
    "f52fcedfe72cad68618e2c81046bb0e4fe34af549a7631b04b9b726b00c9f6d3808c45def1c5b03df442af1eacdb44ee",
];

fn number() -> impl Strategy<Value = u64> {
    let last = i64::MAX.cast_unsigned();
    prop_oneof![1..6_u64, Just(last), Just(last - 1)]
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn a_damaged_proof_is_refused_or_says_what_it_said(bytes in damaged(vec![proof().write().to_string()])) {
        let Ok(value) = serde_json::from_slice::<Value>(&bytes) else { return Ok(()); };
        match Proof::check(&value) {
            // Other spaces or another order are no change.
            Ok((read, _)) => prop_assert_eq!(read, proof()),
            Err(refused) => prop_assert!(refused.to_string().len() < 4_000, "{}", refused),
        }
    }

    #[test]
    fn whatever_number_a_proof_names_it_is_read(
        place in proptest::sample::select(vec![
            "/message/sequence_number", "/message/first_sequence_number", "/before/sequence_number",
            "/after/sequence_number", "/links/0/sequence_number", "/links/2/sequence_number",
            "/links/0/piece/number", "/links/1/piece/total", "/inbox_proof", "/running_hash_version",
        ]),
        number in prop_oneof![any::<u64>(), number(), Just(u64::MAX), Just(0)],
    ) {
        let mut value = proof().write();
        *value.pointer_mut(place).unwrap() = json!(number);
        let is_same = value == proof().write();
        prop_assert_eq!(Proof::check(&value).is_ok(), is_same);
    }

    #[test]
    fn whatever_a_text_is_it_is_read_or_refused(text in damaged_text(TEXTS.to_vec())) {
        if let Some(hash) = RunningHash::read(&text) {
            prop_assert_eq!(hash.to_string(), text.to_ascii_lowercase());
        }
        if let Ok(hash) = text.parse::<RunningHash>() {
            prop_assert_eq!(hash.to_string(), text.as_str());
        }
        if let Ok(hrl) = text.parse::<Hrl>() {
            prop_assert_eq!(hrl.to_string(), text.as_str());
        }
        let _ = (TopicMemo::read(&text), AccountMemo::read(&text), text.parse::<TransactionMemo>());
        let _ = crate::resolve::<()>(&Data::new(text.clone()), |_| Ok(Vec::new()));
    }

    #[test]
    fn an_envelope_is_refused_or_reads_again_as_it_was(text in damaged_text(vec![envelope()])) {
        if let Ok((read, _)) = Envelope::read(&Data::new(text)) {
            let (again, deviations) = Envelope::read(&read.to_data()).unwrap();
            prop_assert_eq!((again, deviations), (read, Vec::new()));
        }
    }

    #[test]
    fn a_registrys_profile_is_read_or_refused(bytes in damaged(vec![
        r#"{"version":"1.0","type":"registry","registry":{"name":"r","operator":{"account":"0.0.5"},"links":{"a":"b"}},"topics":{}}"#,
    ])) {
        let _ = RegistryProfile::read(&bytes);
    }

    /// Nothing that is put together is larger than what came, and what is open is bounded.
    #[test]
    fn pieces_at_the_ends_of_numbers_are_put_together_or_refused(
        pieces in proptest::collection::vec(
            (number(), number(), number(), 0..4_u32, prop_oneof![0..4_u32, Just(u32::MAX)], 0..40_usize), 0..40),
    ) {
        let mut assembler = Assembler::default();
        let mut sent = 0;
        for (at, payer, start, number, total, length) in pieces {
            let piece = Piece {
                payer: account(payer),
                valid_start: Timestamp::new(start, 0).unwrap(),
                number,
                total,
            };
            sent += length;
            let time = Timestamp::new(at, 999_999_999).unwrap();
            let added = assembler.add_at((sequence(at), time), account(payer), Some(piece), &vec![0; length]);
            if let Ok(Some(whole)) = added {
                prop_assert!(whole.bytes.len() <= sent);
            }
            prop_assert!(assembler.open() <= 20);
        }
    }
}
