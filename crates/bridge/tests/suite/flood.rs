//! A flood on one topic: what is good in it arrives, other topics do not wait for it, and it costs a bounded amount of memory and of rows.

use inbox_core::Kind;
use inbox_hcs::{Data, InboundMessage, MAX_MESSAGE, Operation};
use inbox_hedera::key::Algorithm;
use inbox_store::{FLOOD, RecordState};
use serde_json::json;

use crate::field::{Field, most_memory};

/// How many good ones there are, and how much stands around each.
const GOOD: usize = 100;
const AROUND: usize = 1_000;

/// The most that a bridge may need, in kilobytes. It needs about half of it without a flood.
const MEMORY: u64 = 96 * 1024;

fn mail(field: &Field, number: usize) -> Vec<u8> {
    let wire = json!({
        "wire": "1.0", "type": "inbox", "sender": "ada", "ts": "2027-01-15T08:00:00.000Z",
        "payload": { "to_agent": "ben", "priority": 3, "message_type": "info",
            "ref_task_id": null, "subject": format!("good {number}"), "body": "b", "action_required": false },
        "x_uid": format!("0190c0de-0000-7000-8000-{number:012x}"),
    });
    let operation = Operation::InboundMessage(InboundMessage {
        operator: field.players["ada"].agent().operator(),
        data: Data::new(wire.to_string()),
        written_at: None,
        memo: None,
    });
    operation.write().unwrap().into_bytes()
}

fn number(id: u64) -> i64 {
    i64::try_from(id).unwrap()
}

fn flood(is_postgres: bool) {
    let field = Field::new(&["ada", "ben", "cyd"], is_postgres);
    let ada = number(field.players["ada"].me.account.number());
    let topic_of = |name: &str| number(field.players[name].me.inbound_topic.number());
    let spammers = [(); 2].map(|()| field.stage.account(Algorithm::Ed25519).account());
    let spammers = spammers.map(|account| number(account.number()));
    let spam = |place: usize| {
        let payer = spammers[place % 2];
        let text = match place % 4 {
            // As large as it can be, and nothing.
            0 => vec![b'x'; MAX_MESSAGE],
            // Under another's name.
            1 => mail(&field, place),
            // Under its own, which is nobody's here.
            2 => {
                let named = format!("0.0.{payer}@0.0.{payer}");
                let said = json!({ "p": "hcs-10", "op": "message", "operator_id": named, "data": "buy this" });
                said.to_string().into_bytes()
            }
            _ => format!(r#"{{"p":"hcs-10","op":"connection_created","n":{place}}}"#).into_bytes(),
        };
        (payer, text)
    };
    let poured = (0..GOOD).flat_map(|good| {
        let around = (0..AROUND).map(move |place| (good, place));
        around.map(|(good, place)| {
            if place == AROUND / 2 {
                (ada, mail(&field, good))
            } else {
                spam(good * AROUND + place)
            }
        })
    });
    assert!(field.stage.devnet.pour(topic_of("ben"), poured).unwrap());
    let one = std::iter::once((ada, mail(&field, 500)));
    assert!(field.stage.devnet.pour(topic_of("cyd"), one).unwrap());

    // The other topic does not wait for it: what is there comes in the first turn, though the flood takes many.
    let mut bridge = field.bridge(&field.inbox);
    let turn = bridge.turn().unwrap();
    let good: Vec<_> = field
        .unread("cyd")
        .into_iter()
        .filter(|one| one.kind == Kind::Event)
        .collect();
    assert_eq!(good.len(), 1);
    assert!(turn.read < 5_000, "{turn:?}");
    assert!(field.topic("ben").sequence < 5_000);
    bridge.leave().unwrap();

    let ended = field.once(&[]);
    assert!(ended.status.success(), "{ended:?}");
    let most = most_memory(&ended);
    assert!(most < MEMORY, "{most} kB");
    let subjects: Vec<_> = field
        .unread("ben")
        .into_iter()
        .map(|one| one.summary)
        .filter(|one| one.starts_with("good"))
        .collect();
    let wanted: Vec<_> = (0..GOOD).map(|good| format!("good {good}")).collect();
    assert_eq!(subjects, wanted);
    let standing = field.inbox.ledger_standing().unwrap();
    let count = |state| {
        let found = standing.records.iter().find(|(found, _)| *found == state);
        found.map_or(0, |(_, count)| *count)
    };
    let kept = count(RecordState::Unverified) + count(RecordState::Unreadable);
    assert_eq!(count(RecordState::Taken), i64::try_from(GOOD).unwrap() + 1);
    assert_eq!(kept, 2 * FLOOD);
    let all = i64::try_from(GOOD * (AROUND - 1)).unwrap();
    assert_eq!(standing.floods + kept, all);
}

#[test]
fn a_hundred_thousand_around_a_hundred_hold_up_nobody_and_cost_little() {
    std::thread::scope(|scope| {
        scope.spawn(|| flood(false));
        scope.spawn(|| flood(true));
    });
}
