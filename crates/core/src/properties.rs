//! What holds of every reader of text in the domain, whatever the text is: it is taken and means the same again when it is written, or it
//! is refused in few words that repeat no secret.

use std::fmt::Display;
use std::str::FromStr;

use proptest::prelude::*;

use crate::damage::{cases, damaged, damaged_text};
use crate::name::{reserved, skeleton};
use crate::record::{Millis, message_uid, uid_parts};
use crate::text::{first_line, is_secret, quoted, visible};
use crate::{
    Address, AgentKind, AgentName, ArtifactId, Auth, Door, Entity, EventType, Kind, Label,
    LeaseToken, MemoryId, MessageId, Mode, Priority, RefType, Refusal, Scope, SessionId,
    SessionState, Status, Step, ThreadId,
};

const TEXTS: &[&str] = &[
    "thr_7k",
    "MSG_zzzzzzzzzzzzz",
    "mem_8000000000000",
    "art_0",
    "lse_7k_1_9q3m5x7t2v",
    "quinn",
    "role:architect",
    "project:x",
    "ALL",
    "0.0.4711",
    "0.0.12@0.0.4711",
    "ses_1@host",
    "task:Fix the Login",
    "@ses/1",
    "#task:a b",
    "account-0.0.4711",
    "2026-11-18T02:22:00.123Z",
    "-009999-01-01T00:00:00Z",
    "+9999-12-31T23:59:60+25:59",
    "01a1e48c-6cb2-7029-9390-447f9972ebd3",
    "working",
    "priority",
    "2",
];

/// The longest refusal: a sentence, a quoted beginning of a hundred letters, and a hint.
const LONGEST: usize = 2_000;

fn read<T: FromStr<Err = Refusal> + Display + PartialEq + std::fmt::Debug>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => assert_eq!(value.to_string().parse::<T>(), Ok(value)),
        Err(refusal) => {
            assert!(refusal.carried().len() < LONGEST, "{}", refusal.message);
            // What is carried as one text has lost its details, and nothing else.
            let carried = Refusal::from_carried(&refusal.carried());
            let parts = |refusal: Refusal| (refusal.code, refusal.message, refusal.hint);
            assert_eq!(parts(carried), parts(refusal.clone()));
            let mut letters = refusal.message.chars();
            assert!(!letters.any(char::is_control), "{:?}", refusal.message);
        }
    }
}

fn read_all(text: &str) {
    read::<ThreadId>(text);
    read::<MessageId>(text);
    read::<MemoryId>(text);
    read::<ArtifactId>(text);
    read::<LeaseToken>(text);
    read::<AgentName>(text);
    read::<SessionId>(text);
    read::<Label>(text);
    read::<Address>(text);
    read::<Entity>(text);
    read::<Millis>(text);
    read::<Status>(text);
    read::<Kind>(text);
    read::<Priority>(text);
    read::<EventType>(text);
    read::<Auth>(text);
    read::<AgentKind>(text);
    read::<SessionState>(text);
    read::<Step>(text);
    read::<Door>(text);
    read::<Scope>(text);
    read::<RefType>(text);
    read::<Mode>(text);
}

proptest! {
    #![proptest_config(cases(1_000))]

    #[test]
    fn whatever_a_text_is_it_is_read_or_refused(text in damaged_text(TEXTS.to_vec())) {
        read_all(&text);
        if let Ok(address) = Address::from_stored(&text) {
            // A session's id is in small letters from when it is made, and a store has no others.
            let again = Address::from_stored(&address.stored()).expect("what is stored is read");
            prop_assert_eq!(again, address);
        }
        let json = serde_json::Value::from(text.as_str());
        for value in [json.clone(), serde_json::json!([json])] {
            let _ = serde_json::from_value::<Priority>(value.clone());
            let _ = serde_json::from_value::<Address>(value.clone());
            let _ = crate::address::written(value);
        }
        let _ = (reserved(&text), skeleton(&text), first_line(&text));
        prop_assert!(quoted(&text).len() < LONGEST);
        prop_assert!(visible(&text, true).len() <= 10 * text.len());
        if let Some((time, entry, random)) = uid_parts(&text) {
            prop_assert_eq!(uid_parts(&message_uid(time, entry, random)), Some((time, entry, random)));
        }
    }

    #[test]
    fn a_refusal_as_another_program_carried_it_is_read(bytes in damaged(vec![
        Refusal::input("no").hint("say yes").carried(),
        r#"{"code":"invalid_input","message":"no","hint":"x","details":{"a":1}}"#.to_owned(),
    ])) {
        let _ = Refusal::from_carried(&String::from_utf8_lossy(&bytes));
        if let Ok(refusal) = serde_json::from_slice::<Refusal>(&bytes) {
            let again = serde_json::to_vec(&refusal).expect("it can be written");
            prop_assert_eq!(serde_json::from_slice::<Refusal>(&again).ok(), Some(refusal));
        }
    }

    #[test]
    fn times_at_the_ends_of_numbers_are_written_and_read(millis in any::<i64>()) {
        let time = Millis(millis);
        let again: Millis = time.to_string().parse().expect("what is written is read");
        prop_assert_eq!(again.timestamp(), Millis::from(time.timestamp()).timestamp());
    }

    /// A secret that lands in the place of something else is refused, and not repeated.
    #[test]
    fn a_secret_in_the_wrong_place_is_not_repeated(
        secret in any::<i64>().prop_map(i64::unsigned_abs),
        key in proptest::collection::vec(any::<u8>(), 32),
        before in "[a-z:/ ]{0,6}",
    ) {
        let secret = crate::id::encode(secret | 1 << 62);
        let key: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        for (text, hidden) in [
            (format!("{before}lse_7k_1_{secret}"), &secret),
            (format!("{before}inbox_{key}"), &key),
            (format!("{before}302e020100300506032b657004220420{key}"), &key),
            (format!("{before}0x{key}"), &key),
            (format!("{before}://me:{secret}@host/x"), &secret),
        ] {
            prop_assert!(is_secret(&text), "{text}");
            prop_assert!(!quoted(&text).contains(hidden.as_str()));
            for refused in [
                text.parse::<ThreadId>().err(),
                text.parse::<AgentName>().err(),
                text.parse::<Address>().err(),
                text.parse::<Entity>().err(),
                text.parse::<Status>().err(),
                text.parse::<Priority>().err(),
                text.parse::<Millis>().err(),
                text.parse::<LeaseToken>().err(),
            ] {
                let said = refused.map_or_else(String::new, |refusal| refusal.carried());
                prop_assert!(!said.contains(hidden.as_str()), "{said}");
            }
        }
    }
}

#[test]
fn a_lease_in_the_place_of_a_thread_is_refused_without_its_secret() {
    let refusal = "lse_7k_1_9q3m5x7t2v".parse::<ThreadId>().unwrap_err();
    assert!(!refusal.message.contains("9q3m5x7t2v"), "{refusal}");
    let long = "x".repeat(100_000).parse::<ThreadId>().unwrap_err();
    assert!(long.message.len() < 300, "{}", long.message.len());
}

#[test]
fn what_is_no_secret_is_quoted() {
    for text in [
        "quinn",
        "inbox_fetch",
        "https://example.com/a@b",
        "lse_",
        "5e8fd7d8-3c3e-4b5e-9f1a-000000000000",
    ] {
        assert!(!is_secret(text), "{text}");
        assert_eq!(quoted(text), format!("{text:?}"));
    }
}
