//! What is written comes back as it was.

use inbox_core::record::Millis;
use inbox_core::{Auth, Kind, Message, MessageId, Priority, ThreadId};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::tests::{UID, a_message, a_thread, only, with, written};
use super::{LINE, Original, Outgoing, decode, encode, encode_read};
use crate::exchange::{LooseRead, Seen};

#[test]
fn the_largest_and_the_deepest_message_of_ours_survive() {
    let deep = (0..120).fold(json!(1), |inner, _| json!([inner]));
    let mut message = a_message();
    message.body = "\u{1}".repeat(1 << 20);
    message.context = deep.clone();
    for payload in [
        deep,
        json!({"nul": "\0"}),
        json!("bare"),
        json!({"inbox": 5}),
        json!(null),
    ] {
        message.payload_json = payload.clone();
        let line = written(&message, None);
        assert!(line.len() > LINE && !line.contains('\n'));
        let mut incoming = only(decode(line.as_bytes(), b""));
        let original = Original::take(&mut incoming).unwrap();
        assert_eq!(
            (original.message, incoming.payload),
            (message.clone(), payload)
        );
    }
    // Each part may be as large as a message's may be.
    message.payload_json = json!({"p": "p".repeat((1 << 20) - 8)});
    message.context = json!({"c": "c".repeat((1 << 20) - 8)});
    let mut incoming = only(decode(written(&message, None).as_bytes(), b""));
    let original = Original::take(&mut incoming).unwrap();
    assert_eq!(original.message, message);
    // The same length in a line of somebody else's is too much.
    let line = with("content", json!("\u{1}".repeat(1 << 20)));
    assert!(
        decode(line.as_bytes(), b"").bad[0]
            .problem
            .contains("bytes")
    );
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(|number| json!(number)),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map(".{0,6}|inbox|payload_json", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn word<W: Copy + std::fmt::Debug + 'static>(words: &'static [W]) -> impl Strategy<Value = W> {
    proptest::sample::select(words)
}

fn any_name() -> impl Strategy<Value = String> {
    "[a-z0-9][a-z0-9._-]{0,20}"
}

fn any_address() -> impl Strategy<Value = String> {
    prop_oneof![
        any_name(),
        any_name().prop_map(|name| format!("role:{name}")),
        (any_name(), any_name()).prop_map(|(space, value)| format!("{space}:{value}")),
        Just("all".to_owned()),
    ]
}

fn any_time() -> impl Strategy<Value = Millis> {
    (-62_135_596_800_000_i64..253_402_300_799_999).prop_map(Millis)
}

fn any_message() -> impl Strategy<Value = Message> {
    let who = (
        any_name(),
        proptest::option::of("[!-~]{1,30}"),
        proptest::collection::vec(any_address(), 0..4),
    );
    let what = (
        word(Kind::ALL),
        proptest::option::of("[a-z.]{1,12}"),
        "\\PC{1,30}",
        "[^\0]{0,60}",
        any_json(),
        any_json(),
    );
    let ids = (
        0..i64::MAX,
        0..i64::MAX,
        proptest::option::of(0..i64::MAX),
        any::<u128>(),
    );
    let when = (
        any_time(),
        proptest::option::of(any_time()),
        any::<bool>(),
        word(Auth::ALL),
    );
    (who, what, ids, when).prop_map(|(who, what, ids, when)| {
        let to: Vec<inbox_core::Address> = who
            .2
            .iter()
            .map(|address| address.parse().unwrap())
            .collect();
        let hex = format!("{:032x}", ids.3);
        Message {
            message_id: MessageId::new(ids.0),
            uid: format!(
                "{}-{}-{}-{}-{}",
                &hex[..8],
                &hex[8..12],
                &hex[12..16],
                &hex[16..20],
                &hex[20..]
            ),
            thread_id: ThreadId::new(ids.1),
            from_agent: who.0.parse().unwrap(),
            from_session: who.1.map(|session| session.parse().unwrap()),
            to_agent: to.first().map(ToString::to_string).unwrap_or_default(),
            to,
            kind: what.0,
            message_type: what.1,
            summary: what.2,
            body: what.3,
            payload_json: what.4,
            context: what.5,
            parent_message_id: ids.2.map(MessageId::new),
            hops: ids.0 % 7,
            priority: Priority::ALL[usize::try_from(ids.1 % 5).unwrap_or(0)],
            expires_at: when.1,
            verified: when.2,
            auth: when.3,
            created_at: when.0,
        }
    })
}

fn any_seen() -> impl Strategy<Value = Vec<Seen>> {
    let one = (any_name(), any_time()).prop_map(|(reader, at)| Seen { reader, at });
    proptest::collection::vec(one, 0..3)
}

proptest! {
    #[test]
    fn a_message_of_ours_comes_back_as_it_was(
        message in any_message(),
        threaded in any::<bool>(),
        priority in word(Priority::ALL),
        parent in proptest::option::of(Just(UID)),
        reads in any_seen(),
        acks in any_seen(),
    ) {
        let mut thread = a_thread();
        thread.priority = priority;
        let outgoing = Outgoing {
            message: &message,
            thread: threaded.then_some(&thread),
            parent_uid: parent,
            reads: &reads,
            acks: &acks,
            artifacts: &[],
        };
        let line = encode(&outgoing);
        prop_assert!(!line.contains('\n'));
        let mut incoming = only(decode(line.as_bytes(), b""));
        prop_assert_eq!(&incoming.uid, &message.uid);
        prop_assert_eq!(&incoming.from, message.from_agent.as_str());
        prop_assert_eq!(incoming.parent_uid.as_deref(), parent);
        prop_assert_eq!(incoming.thread_key.clone(), Some(message.thread_id.to_string()));
        prop_assert_eq!(incoming.priority, threaded.then_some(priority));
        prop_assert_eq!((&incoming.reads, &incoming.acks), (&reads, &acks));
        // As a request's value, too, it is the same.
        let value = serde_json::to_string(&incoming).unwrap();
        prop_assert_eq!(&serde_json::from_str::<crate::exchange::Incoming>(&value).unwrap(), &incoming);
        let original = Original::take(&mut incoming).unwrap();
        prop_assert_eq!(&original.message, &message);
        prop_assert_eq!(original.thread.as_ref(), threaded.then_some(&thread));
        prop_assert_eq!(&incoming.payload, &message.payload_json);
    }

    #[test]
    fn arbitrary_bytes_are_answered(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let batch = decode(&bytes, &bytes);
        prop_assert!(batch.messages.is_empty());
    }

    #[test]
    fn a_line_with_one_byte_changed_is_answered(at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let mut line = written(&a_message(), Some(&a_thread())).into_bytes();
        let at = at.index(line.len());
        line[at] = byte;
        decode(&line, &line);
    }

    #[test]
    fn a_read_comes_back_as_it_was(reader in any_name(), at in any_time()) {
        prop_assume!(!["system", "runner", "all"].contains(&reader.as_str()));
        let read = LooseRead { message_uid: UID.into(), reader, at };
        let batch = decode(b"", encode_read(&read).as_bytes());
        prop_assert_eq!(batch.reads, [read]);
    }
}
