//! A ledger that was put back, a mirror that is behind or leaves things out, and one that lies of what its hashes do not cover.

use std::time::Duration;

use inbox_bridge::bridge::Bridge;
use inbox_core::{Code, Priority};
use inbox_devnet::Twist;
use inbox_hedera::client::{Asking, Operator};
use inbox_hedera::proto::{ChunkInfo, Data, SubmitMessageBody};
use inbox_store::RecordState;

use crate::field::{Field, settle};

/// Two agents, of whom one wrote so many letters to the other.
fn written(letters: usize, word: &str) -> Field {
    let field = Field::new(&["ada", "ben"], false);
    for number in 1..=letters {
        let subject = format!("{word} {number}");
        field.send("ada", "ben", &subject, "words", Priority::Normal);
    }
    field.settle();
    field
}

#[test]
fn a_ledger_that_was_put_back_stops_its_topics_and_delivers_nothing_again() {
    let field = written(3, "first");
    assert_eq!(field.unread("ben").len(), 3);
    let before = field.topic("ben");
    assert_eq!((before.sequence, before.problem), (3, None));
    // The same network from its beginning: the same topics, with less on them, and with something else.
    for (letters, gone) in [(1, "is gone"), (4, "is not the one that was taken in")] {
        let other = written(letters, "other");
        assert_eq!(
            other.players["ben"].me.inbound_topic,
            field.players["ben"].me.inbound_topic
        );
        let network = other.stage.network.clone();
        let bridge = Bridge::new(&field.inbox, network, other.keys()).unwrap();
        let mut bridge = bridge.without_skew();
        assert_eq!(bridge.put_back(), None);
        // As `inbox bridge --once` does: until there is nothing to do, and nothing to be asked again.
        while !bridge.turn().unwrap().is_idle() || bridge.is_unsure() {}
        let refusal = bridge.put_back().unwrap();
        assert_eq!((refusal.code, refusal.code.exit()), (Code::Ledger, 50));
        assert!(refusal.message.contains(gone), "{refusal:?}");
        assert!(refusal.hint.starts_with("inbox "), "{refusal:?}");
        bridge.leave().unwrap();
        let after = field.topic("ben");
        let problem = after.problem.unwrap_or_default();
        assert!(problem.contains("was put back"), "{problem:?}");
        assert!(problem.contains(gone), "{problem:?}");
        assert_eq!(
            (after.sequence, after.taken),
            (before.sequence, before.taken)
        );
        assert_eq!(field.unread("ben").len(), 0);
    }
    // The real one is there again.
    field.send("ada", "ben", "later", "words", Priority::Normal);
    let mut bridge = field.bridge(&field.inbox);
    settle(&mut bridge);
    assert_eq!(bridge.put_back(), None);
    bridge.leave().unwrap();
    assert_eq!(field.topic("ben").problem, None);
    assert_eq!(field.unread("ben").len(), 1);
}

#[test]
fn a_mirror_that_is_behind_or_has_no_list_is_waited_for() {
    let field = written(3, "first");
    field.unread("ben");
    let faults = field.stage.devnet.faults();
    faults.lag(Duration::from_mins(10));
    let mut bridge = field.bridge(&field.inbox).without_skew();
    for _ in 0..5 {
        bridge.turn().unwrap();
    }
    assert_eq!(
        field.topic("ben").problem,
        None,
        "it is behind, and no more"
    );
    faults.lag(Duration::ZERO);
    // No list is not an empty one.
    faults.twist(Twist::Bare, 2);
    let turn = bridge.turn().unwrap();
    assert!(turn.problems > 0);
    settle(&mut bridge);
    faults.twist(Twist::Bare, 0);
    field.send("ada", "ben", "later", "words", Priority::Normal);
    settle(&mut bridge);
    bridge.leave().unwrap();
    assert_eq!(field.topic("ben").problem, None);
    assert_eq!(field.unread("ben").len(), 1);
}

#[test]
fn a_mirror_that_calls_a_message_a_piece_of_another_loses_none() {
    let field = Field::new(&["ada", "ben"], false);
    let faults = field.stage.devnet.faults();
    let mut bridge = field.bridge(&field.inbox);
    for number in 1..=6 {
        let subject = format!("number {number}");
        field.send("ada", "ben", &subject, "words", Priority::Normal);
        faults.twist(Twist::Pieces, 3);
        bridge.turn().unwrap();
    }
    faults.twist(Twist::Pieces, 0);
    settle(&mut bridge);
    bridge.leave().unwrap();
    let subjects: Vec<String> = field
        .unread("ben")
        .into_iter()
        .map(|message| message.summary)
        .collect();
    assert_eq!(subjects.len(), 6, "{subjects:?}");
    let topic = field.topic("ben");
    assert_eq!((topic.sequence, topic.problem), (6, None));
    let report = inbox_bridge::compare::compare(&field.inbox, &field.stage.network.reader(), None);
    assert_eq!(report.unwrap().mismatches, []);
}

#[test]
fn what_never_comes_whole_is_kept_with_its_reason() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for is_postgres in [false, true] {
        let field = Field::new(&["ada", "ben"], is_postgres);
        let (net, to) = (
            &field.players["ada"].net,
            field.players["ben"].me.inbound_topic,
        );
        let client = field.stage.network.client(Operator {
            account: i64::try_from(net.account().number()).unwrap(),
            key: net.key().clone(),
        });
        // One more than are held of one payer.
        for number in 1..=5 {
            let id = net.next_id();
            let body = SubmitMessageBody {
                topic_id: Some(to.into()),
                message: format!("half of {number}").into_bytes(),
                chunk_info: Some(ChunkInfo {
                    initial_transaction_id: Some(id.clone()),
                    total: 2,
                    number: 1,
                }),
            };
            let asking = Asking::of(Data::SubmitMessage(body));
            runtime.block_on(client.execute_as(id, &asking)).unwrap();
        }
        net.catch_up();
        field.send("ada", "ben", "whole", "words", Priority::Normal);
        field.settle();
        field.settle();
        assert_eq!(field.unread("ben").len(), 1);
        let topic = field.topic("ben");
        let records = field.inbox.records_after(topic.topic_no, 0, 100).unwrap();
        let aside: Vec<_> = records
            .iter()
            .filter(|record| record.state == RecordState::Unreadable)
            .map(|record| (record.sequence, record.reason.clone().unwrap_or_default()))
            .collect();
        let reason = "piece 1 of 2 of a message whose other pieces did not come".to_owned();
        assert_eq!(aside, [(1, reason)]);
        let mirror = field.stage.network.reader();
        let report = inbox_bridge::compare::compare(&field.inbox, &mirror, None).unwrap();
        assert_eq!(report.mismatches, []);
    }
}
