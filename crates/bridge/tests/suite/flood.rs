//! A flood on one topic, of few payers or of many: what is good in it arrives, other topics do not wait for it, and it costs a bounded amount of
//! memory and of rows.

use inbox_bridge::compare::compare;
use inbox_core::Kind;
use inbox_hcs::{Data, InboundMessage, MAX_MESSAGE, Operation};
use inbox_hedera::key::Algorithm;
use inbox_ops::Inbox;
use inbox_ops::ledger::{Finding, Link, Meaning};
use inbox_store::{
    ConnectionRole, ConnectionState, Cursor, FLOOD, LedgerRecord, NewConnection, RecordState,
    TOPIC_FLOOD, TopicRow,
};
use serde_json::json;

use crate::field::{Field, most_memory};

/// How many good ones there are, and how much stands around each.
const GOOD: usize = 100;
const AROUND: usize = 1_000;

/// The most that a bridge may need, in kilobytes. It needs about half of it without a flood.
const MEMORY: u64 = 96 * 1024;

/// A message of ada's to ben, as it stands on a topic.
pub(crate) fn mail(field: &Field, number: usize) -> Vec<u8> {
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

/// How many records there are that became this.
pub(crate) fn count(inbox: &Inbox, state: RecordState) -> i64 {
    let records = inbox.ledger_standing().unwrap().records;
    let found = records.iter().find(|(found, _)| *found == state);
    found.map_or(0, |(_, count)| *count)
}

/// How many records are kept that count for nothing.
fn kept(inbox: &Inbox) -> i64 {
    let nothing = RecordState::ALL
        .into_iter()
        .filter(|state| state.is_nothing());
    nothing.map(|state| count(inbox, state)).sum()
}

/// The subjects of the good ones that an agent has not read.
pub(crate) fn good(field: &Field, name: &str) -> Vec<String> {
    let subjects = field.unread(name).into_iter().map(|one| one.summary);
    subjects.filter(|one| one.starts_with("good")).collect()
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
    let first: Vec<_> = field
        .unread("cyd")
        .into_iter()
        .filter(|one| one.kind == Kind::Event)
        .collect();
    assert_eq!(first.len(), 1);
    assert!(turn.read < 5_000, "{turn:?}");
    assert!(field.topic("ben").sequence < 5_000);
    bridge.leave().unwrap();

    let ended = field.once(&[]);
    assert!(ended.status.success(), "{ended:?}");
    let most = most_memory(&ended);
    assert!(most < MEMORY, "{most} kB");
    let wanted: Vec<_> = (0..GOOD).map(|good| format!("good {good}")).collect();
    assert_eq!(good(&field, "ben"), wanted);
    let taken = count(&field.inbox, RecordState::Taken);
    assert_eq!(taken, i64::try_from(GOOD).unwrap() + 1);
    let kept = kept(&field.inbox);
    assert_eq!(kept, 2 * FLOOD);
    let all = i64::try_from(GOOD * (AROUND - 1)).unwrap();
    let standing = field.inbox.ledger_standing().unwrap();
    assert_eq!(standing.floods + kept, all);
}

#[test]
fn a_hundred_thousand_around_a_hundred_hold_up_nobody_and_cost_little() {
    std::thread::scope(|scope| {
        scope.spawn(|| flood(false));
        scope.spawn(|| flood(true));
    });
}

/// How many payers there are, how much each writes, and after how much there is a good one.
const PAYERS: usize = 1_000;
const EACH: usize = 5;
const BETWEEN: usize = PAYERS * EACH / GOOD;

fn crowd(is_postgres: bool) {
    let field = Field::new(&["ada", "ben"], is_postgres);
    let ada = number(field.players["ada"].me.account.number());
    let topic = number(field.players["ben"].me.inbound_topic.number());
    // They are nobody's here; one has a connection with ben.
    let payer = |place: usize| 1_000_000 + i64::try_from(place % PAYERS).unwrap();
    let friend = 2_000_000;
    connect(&field, friend);
    let poured = (0..PAYERS * EACH).flat_map(|place| {
        let spam = (payer(place), format!("rubbish {place}").into_bytes());
        let is_turn = place % BETWEEN == BETWEEN - 1;
        let good = is_turn.then(|| (ada, mail(&field, place / BETWEEN)));
        [spam].into_iter().chain(good)
    });
    assert!(field.stage.devnet.pour(topic, poured).unwrap());
    let ended = field.once(&[]);
    assert!(ended.status.success(), "{ended:?}");
    let most = most_memory(&ended);
    assert!(most < MEMORY, "{most} kB");

    let wanted: Vec<_> = (0..GOOD).map(|good| format!("good {good}")).collect();
    assert_eq!(good(&field, "ben"), wanted);
    let taken = count(&field.inbox, RecordState::Taken);
    assert_eq!(taken, i64::try_from(GOOD).unwrap());
    assert_eq!(kept(&field.inbox), TOPIC_FLOOD);
    let beyond = i64::try_from(PAYERS * EACH).unwrap() - TOPIC_FLOOD;
    let floods = |field: &Field| field.inbox.ledger_standing().unwrap().floods;
    assert_eq!(floods(&field), beyond);
    // Payers for whom there was no room cost no row each.
    let topic_no = field.topic("ben").topic_no;
    let counted = field.inbox.floods_of(topic_no).unwrap();
    assert_eq!(counted, [(None, beyond)]);

    // However full it is: what was put aside of those who are known is there to be looked at, up to their own measure.
    let of = |payer: i64, many: i64| (0..many).map(move |_| (payer, b"rubbish".to_vec()));
    let more = of(ada, FLOOD + 7)
        .chain(of(friend, 3))
        .chain(of(payer(0), 2));
    assert!(field.stage.devnet.pour(topic, more).unwrap());
    field.settle();
    assert_eq!(kept(&field.inbox), TOPIC_FLOOD + FLOOD + 3);
    assert_eq!(floods(&field), beyond + 7 + 2);
    let mut counted = field.inbox.floods_of(topic_no).unwrap();
    counted.sort();
    let account = field.players["ada"].me.account.to_string();
    assert_eq!(counted, [(None, beyond + 2), (Some(account), 7)]);
    let report = compare(&field.inbox, &field.stage.network.reader(), None).unwrap();
    assert_eq!(report.mismatches, []);
}

/// Has ben and this account be connected.
fn connect(field: &Field, other: i64) {
    let made = field.inbox.store().write(|tx| {
        Ok(tx.keep_connection(&NewConnection {
            agent: &"ben".parse().unwrap(),
            inbound: &field.players["ben"].me.inbound_topic.to_string(),
            request: 1_000_000,
            role: ConnectionRole::Responder,
            state: ConnectionState::Open,
            other: &format!("0.0.{other}"),
            other_inbound: None,
            memo: None,
            topic: None,
        })?)
    });
    assert!(made.unwrap().value);
}

#[test]
fn a_thousand_payers_around_a_hundred_displace_nobody_and_cost_no_more_than_ten() {
    std::thread::scope(|scope| {
        scope.spawn(|| crowd(false));
        scope.spawn(|| crowd(true));
    });
}

/// Has an account say something of a connection on an agent's inbound topic.
fn say(inbox: &Inbox, topic: &mut TopicRow, account: &str, link: Link) {
    topic.taken += 1;
    let cursor = Cursor {
        sequence: topic.taken,
        time: None,
        hash: None,
    };
    let finding = Finding {
        to: cursor.clone(),
        record: LedgerRecord {
            sequence: topic.taken,
            time: "1.1".into(),
            payer: account.into(),
            hash: String::new(),
            state: RecordState::Passed,
            uid: None,
            reason: None,
            content: String::new(),
        },
        meaning: Meaning::Link(link),
        is_late: false,
    };
    let before = TopicRow {
        taken: topic.taken - 1,
        ..topic.clone()
    };
    let taken = inbox.take_in_found(&before, &cursor, &[finding]).unwrap();
    assert_eq!(taken, Some(topic.taken));
    topic.sequence = topic.taken;
}

fn strangers(is_postgres: bool) {
    let field = Field::new(&["ada", "ben"], is_postgres);
    field.settle();
    let inbox = field.another_with(|config| {
        config.ledger.connections.accept = vec!["0.0.77".into()];
    });
    let mut topic = field.topic("ben");
    let rows = || inbox.ledger_standing().unwrap().connections;
    let asked = |account: &str| Link::Asked {
        account: account.into(),
        inbound: "0.0.5".into(),
        memo: None,
    };
    // Strangers ask until no more may wait; whom the settings name is let in all the same.
    for place in 0..120 {
        let account = format!("0.0.{}", 1_000_000 + place);
        say(&inbox, &mut topic, &account, asked(&account));
    }
    assert_eq!(rows().len(), 100);
    say(&inbox, &mut topic, "0.0.77", asked("0.0.77"));
    assert_eq!(rows().last().unwrap().other, "0.0.77");

    // What came to nothing is remembered for a while, and not for ever.
    for place in 0..1_100 {
        let account = format!("0.0.{}", 2_000_000 + place);
        let link = Link::Denied {
            account: account.clone(),
            inbound: "0.0.6".into(),
            request: place,
            reason: "no".into(),
        };
        say(&inbox, &mut topic, &account, link);
    }
    let over: Vec<_> = rows()
        .into_iter()
        .filter(|row| row.state == ConnectionState::Refused)
        .map(|row| row.other)
        .collect();
    assert_eq!(over.len(), 1_000);
    assert_eq!(over.last().unwrap(), "0.0.2001099");
    assert_eq!(rows().len(), 101 + 1_000);
}

#[test]
fn strangers_who_ask_or_refuse_leave_room_for_others_and_cost_a_bounded_number_of_rows() {
    std::thread::scope(|scope| {
        scope.spawn(|| strangers(false));
        scope.spawn(|| strangers(true));
    });
}
