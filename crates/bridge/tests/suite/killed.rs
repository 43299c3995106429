//! Bridges that die by kill -9 at every named point, among lost receipts, a busy node and a mirror that does not say what there is: in the
//! end every message is on its topic once, in order, was delivered once, and the store is what a clean run makes of the topics.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use inbox_bridge::history;
use inbox_bridge::verify::verify;
use inbox_core::Priority;
use inbox_devnet::{Faults, Twist};
use inbox_ops::Inbox;
use inbox_store::{FailPoint, RecordState, TopicPlace};

use crate::field::{Field, unread};

/// How many bridges die on each sort of store.
const DEATHS: usize = 300;

/// Where they die.
const POINTS: [FailPoint; 13] = [
    FailPoint::BridgeBeforeId,
    FailPoint::LedgerBeforeSend,
    FailPoint::LedgerAfterSend,
    FailPoint::LedgerAfterReceipt,
    FailPoint::BridgeAfterSaid,
    FailPoint::BridgeBeforeTaking,
    FailPoint::BridgeMidst,
    FailPoint::BridgeBeforeCommit,
    FailPoint::BridgeAfterCommit,
    FailPoint::BeforeCommit,
    FailPoint::AfterCommit,
    FailPoint::BeforeRing,
    FailPoint::AfterRing,
];

/// What notes are about.
const ENTITIES: [&str; 2] = ["task:T-1", "phase:P-2"];

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        // Xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap()
    }

    fn count(&mut self) -> u32 {
        1 + u32::try_from(self.roll(2)).unwrap()
    }

    fn of<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.roll(list.len())]
    }
}

fn calm(faults: &Faults) {
    faults.busy(0);
    faults.lose(0);
    faults.delay_receipts(0);
    faults.lag(Duration::ZERO);
    for twist in Twist::ALL {
        faults.twist(twist, 0);
    }
}

fn trouble(faults: &Faults, dice: &mut Dice) {
    calm(faults);
    for _ in 0..3 {
        match dice.roll(6) {
            0 => faults.busy(dice.count()),
            1 => faults.lose(1),
            2 => faults.delay_receipts(dice.count()),
            3 => faults.lag(Duration::from_millis(100)),
            _ => {
                let twist = *dice.of(&Twist::ALL);
                faults.twist(twist, dice.count());
            }
        }
    }
}

/// What the store has of the topics: each message with what became of it. Whether it was sent from here makes no difference.
fn records(inbox: &Inbox) -> BTreeMap<(String, i64), Vec<String>> {
    let standing = inbox.ledger_standing().unwrap();
    let mut all = BTreeMap::new();
    let inbound = standing.topics.into_iter();
    for topic in inbound.filter(|topic| topic.place == TopicPlace::Inbound) {
        for record in inbox
            .store()
            .read(|tx| Ok(tx.records(topic.topic_no, 0, 10_000)?))
            .unwrap()
        {
            let id = (topic.topic.clone().unwrap(), record.sequence);
            let is_nothing = record.state.is_nothing().to_string();
            let uid = record.uid.unwrap_or_default();
            let kept = [record.payer, record.hash, uid, is_nothing, record.content];
            all.insert(id, kept.to_vec());
        }
    }
    all
}

fn rounds(is_postgres: bool, seed: u64) {
    let names = ["ada", "ben", "cyd"];
    let mut field = Field::new(&names, is_postgres);
    let mut dice = Dice(seed);
    let mut sent: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    let mut notes: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    let mut for_role = 0;
    let mut deaths: BTreeMap<u32, usize> = BTreeMap::new();
    let mut rounds = 0;
    while deaths.values().sum::<usize>() < DEATHS {
        rounds += 1;
        assert!(rounds < 3 * DEATHS, "hardly anybody dies: {deaths:?}");
        // As if the leases of those who died were over.
        field.advance_ms(31_000);
        for _ in 0..=dice.roll(3) {
            let from = *dice.of(&names);
            if dice.roll(5) == 0 {
                let (entity, text) = (*dice.of(&ENTITIES), format!("note {rounds}"));
                field.note(from, entity, &text);
                notes.entry((from, entity)).or_default().push(text);
                continue;
            }
            if dice.roll(8) == 0 {
                let subject = format!("round {rounds}");
                field.send(
                    from,
                    "role:reviewer",
                    &subject,
                    "for whoever",
                    Priority::Normal,
                );
                for_role += 1;
                continue;
            }
            let others: Vec<_> = names.into_iter().filter(|name| *name != from).collect();
            let to = *dice.of(&others);
            let body = match dice.roll(40) {
                0 => "many words ".repeat(200),
                _ => "a few words".into(),
            };
            let priority = *dice.of(&[Priority::Urgent, Priority::Normal, Priority::Low]);
            let message = field.send(from, to, &format!("round {rounds}"), &body, priority);
            sent.entry((from, to)).or_default().push(message.uid);
        }
        trouble(field.stage.devnet.faults(), &mut dice);
        let point = *dice.of(&POINTS);
        let time = 1 + dice.roll(2);
        let point = (point as u32, format!("{}:{time}", point as u32));
        let ended = field.once(&[("INBOX_FAIL_POINT", point.1.clone())]);
        match ended.status.signal() {
            Some(9) => *deaths.entry(point.0).or_default() += 1,
            None if ended.status.success() => {}
            _ => panic!("{point:?}: {ended:?}"),
        }
    }
    assert_eq!(
        deaths.len(),
        POINTS.len(),
        "some points were never reached: {deaths:?}"
    );
    calm(field.stage.devnet.faults());
    for _ in 0..3 {
        // What failed often waits long.
        field.advance_ms(600_000);
        let ended = field.once(&[]);
        assert!(ended.status.success(), "{ended:?}");
    }
    check(&field, &sent);
    check_places(&field, &notes, for_role);
}

/// What was said beside mail is on topics that were made once: notes in the order of each agent, and a pointer for each message to a role.
fn check_places(field: &Field, notes: &BTreeMap<(&str, &str), Vec<String>>, for_role: usize) {
    let mirror = field.players["ada"].net.mirror();
    for ((from, entity), texts) in notes {
        let topic = field.topic(entity).topic.unwrap().parse().unwrap();
        let mut found = Vec::new();
        history::messages(mirror, topic, None, |said| {
            let note: serde_json::Value = serde_json::from_slice(&said.bytes).unwrap();
            if said.payer == field.players[from].me.account {
                found.push(note["note"].as_str().unwrap().to_owned());
            }
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
        assert_eq!(&found, texts, "{from} on {entity}");
    }
    let pointers = field.topic("reviewer").sequence;
    assert_eq!(usize::try_from(pointers).unwrap(), for_role);
}

fn check(field: &Field, sent: &BTreeMap<(&str, &str), Vec<String>>) {
    let standing = field.inbox.ledger_standing().unwrap();
    assert_eq!(
        (standing.backlog.count, standing.floods),
        (0, 0),
        "{standing:?}"
    );
    // Whatever is on a topic was sent from here, and is there once.
    let mirror = field.players["ada"].net.mirror();
    let on_topics = standing.topics.iter().map(|topic| {
        let id = topic.topic.as_deref().unwrap().parse().unwrap();
        let verified = verify(mirror, id).unwrap();
        assert_eq!(verified.messages, topic.sequence.unsigned_abs());
        topic.sequence
    });
    let confirmed = on_topics.sum();
    assert_eq!(standing.records, [(RecordState::Confirmed, confirmed)]);
    for ((from, to), uids) in sent {
        assert_eq!(&field.said(from, to), uids, "{from} to {to}");
    }
    let (_world, clean) = field.clean_run();
    assert_eq!(records(&field.inbox), records(&clean));
    for name in field.players.keys() {
        let seen = |inbox: &Inbox| {
            let mail = unread(inbox, name).into_iter();
            let mut mail: Vec<_> = mail
                .filter(|message| message.summary != "hello")
                .map(|message| {
                    (
                        message.uid,
                        message.from_agent,
                        message.summary,
                        message.body,
                    )
                })
                .collect();
            // In the clean store everything came when the topic had it; here urgent mail came at once.
            mail.sort();
            mail
        };
        let here = seen(&field.inbox);
        let mut wanted: Vec<&String> = sent
            .iter()
            .filter(|((_, to), _)| to == name)
            .flat_map(|(_, uids)| uids)
            .collect();
        wanted.sort();
        let uids: Vec<&String> = here.iter().map(|(uid, ..)| uid).collect();
        assert_eq!(uids, wanted, "each once, for {name}");
        assert_eq!(here, seen(&clean), "{name}");
    }
}

#[test]
fn bridges_that_die_anywhere_leave_what_a_clean_run_makes() {
    std::thread::scope(|scope| {
        scope.spawn(|| rounds(false, 0x5eed));
        scope.spawn(|| rounds(true, 0xfeed));
    });
}
