//! Bridges that die by kill -9 while they make a connection, sign what was proposed there, and say no to it: in the end each step happened once.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::os::unix::process::ExitStatusExt;

use inbox_bridge::agent::Transfer;
use inbox_bridge::publish::create_outbound;
use inbox_bridge::{history, peer};
use inbox_core::{Kind, ThreadId};
use inbox_hcs::{Operation as Hcs, Place, TopicId, read};
use inbox_ops::Reply;
use inbox_store::{ConnectionRow, ConnectionState, FailPoint, ProposalState};
use serde_json::json;

use crate::entity::run;
use crate::field::Field;
use crate::stage::{Player, hbar};

/// Where they die.
const POINTS: [FailPoint; 7] = [
    FailPoint::LedgerBeforeSend,
    FailPoint::LedgerAfterSend,
    FailPoint::LedgerAfterReceipt,
    FailPoint::BeforeCommit,
    FailPoint::AfterCommit,
    FailPoint::BridgeBeforeCommit,
    FailPoint::BridgeAfterCommit,
];

/// The ones that every step on the ledger has.
const STEPS: [FailPoint; 3] = [POINTS[0], POINTS[1], POINTS[2]];

/// How often each point is passed before somebody dies there, at most.
const TIMES: usize = 2;

/// Has bridges die at every point in turn, each from where the last one was, and one do the rest. At which points they died.
fn die(field: &mut Field) -> BTreeMap<u32, usize> {
    let mut deaths = BTreeMap::new();
    for time in 1..=TIMES {
        for point in POINTS {
            let point = point as u32;
            let ended = field.once(&[("INBOX_FAIL_POINT", format!("{point}:{time}"))]);
            match ended.status.signal() {
                Some(9) => *deaths.entry(point).or_default() += 1,
                None if ended.status.success() => {}
                _ => panic!("{point}: {ended:?}"),
            }
            // As if the leases of those who died were over.
            field.advance_ms(31_000);
        }
    }
    field.advance_ms(310_000);
    let ended = field.once(&[]);
    assert!(ended.status.success(), "{ended:?}");
    deaths
}

/// The thread in which a person is asked, once.
fn asked(field: &Field) -> ThreadId {
    let mut mail = field.unread("pat");
    mail.retain(|message| message.kind == Kind::Question);
    assert_eq!(mail.len(), 1, "{mail:?}");
    mail[0].thread_id
}

fn answer(field: &Field, word: &str) {
    let thread = asked(field);
    let reply = json!({ "thread": thread, "summary": word });
    run::<Reply>(&field.inbox, "pat", reply);
}

fn connection(field: &Field) -> ConnectionRow {
    let mut all = field.inbox.ledger_standing().unwrap().connections;
    assert_eq!(all.len(), 1, "{all:?}");
    all.remove(0)
}

/// What stands on a topic.
fn operations(field: &Field, topic: TopicId, place: Place) -> Vec<Hcs> {
    let mut found = Vec::new();
    history::messages(field.players["ben"].net.mirror(), topic, None, |said| {
        found.push(read(&said.bytes, place).unwrap().0);
        Ok(ControlFlow::Continue(()))
    })
    .unwrap();
    found
}

fn balance(player: &Player) -> i64 {
    let found = peer::account(player.net.mirror(), player.me.account);
    found.unwrap().balance
}

fn all_steps(deaths: &BTreeMap<u32, usize>) -> bool {
    STEPS
        .into_iter()
        .all(|point| deaths.contains_key(&(point as u32)))
}

fn rounds(is_postgres: bool) {
    let mut field = Field::new(&["ben"], is_postgres);
    field.person("pat");
    let eve = field.stage.player("Eve");
    let ben = field.players["ben"].me;
    eve.agent().connect(ben.account, None).unwrap();
    // Topics are numbered in the order in which they are made.
    let before = create_outbound(&eve.net).unwrap();
    die(&mut field);
    assert_eq!(connection(&field).state, ConnectionState::Asked);
    answer(&field, "accept");
    let deaths = die(&mut field);
    assert!(all_steps(&deaths), "{deaths:?}");
    let row = connection(&field);
    assert_eq!(row.state, ConnectionState::Open);
    let after = create_outbound(&eve.net).unwrap();
    assert_eq!(after.number(), before.number() + 2, "one topic was made");
    assert_eq!(
        operations(&field, ben.inbound_topic, Place::Inbound).len(),
        2
    );
    assert_eq!(
        operations(&field, ben.outbound_topic, Place::Outbound).len(),
        1
    );

    let topic: TopicId = row.topic.unwrap().parse().unwrap();
    for (amount, word, ends) in [
        ("3", "approve", ProposalState::Executed),
        ("2", "reject", ProposalState::Rejected),
    ] {
        let wanted = Transfer {
            from: ben.account,
            to: eve.me.account,
            amount: hbar(amount),
        };
        eve.agent().propose(topic, wanted, None).unwrap();
        let before = balance(&eve);
        die(&mut field);
        answer(&field, word);
        let deaths = die(&mut field);
        assert!(all_steps(&deaths), "{deaths:?}");
        let state = field.inbox.ledger_standing().unwrap().proposals.pop();
        assert_eq!(state.unwrap().state, ends);
        let got = balance(&eve) - before;
        let is_paid = ends == ProposalState::Executed;
        let wanted = if is_paid { hbar(amount).tinybars() } else { 0 };
        // Whoever proposes pays the network's fee for what is carried out.
        let fee = hbar("0.01").tinybars();
        assert!(got <= wanted && got > wanted - fee, "{got}");
    }
    let said = operations(&field, topic, Place::Connection);
    let rejections = said.iter().filter(|said| matches!(said, Hcs::Message(_)));
    assert_eq!((said.len(), rejections.count()), (3, 1), "{said:?}");
}

#[test]
fn bridges_that_die_while_they_connect_sign_and_reject_do_nothing_twice() {
    std::thread::scope(|scope| {
        scope.spawn(|| rounds(false));
        scope.spawn(|| rounds(true));
    });
}
