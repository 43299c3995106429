//! Bridges that die by kill -9 while they make topics and write files: in the end each is there once, and has what was said once.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt;

use inbox_hcs::{TopicId, TopicMemo};
use inbox_ops::{Note, Send};
use inbox_store::{FailPoint, RecordState, TopicPlace};
use serde_json::{Value, json};

use crate::entity::run;
use crate::field::Field;
use crate::once::noise;

/// How many bridges die on each sort of store.
const DEATHS: usize = 60;

/// Where they die.
const POINTS: [FailPoint; 6] = [
    FailPoint::BridgeBeforeId,
    FailPoint::LedgerBeforeSend,
    FailPoint::LedgerAfterSend,
    FailPoint::LedgerAfterReceipt,
    FailPoint::BridgeAfterSaid,
    FailPoint::BridgeBeforeCommit,
];

/// Every topic that there is, by what it is for.
fn topics(field: &Field) -> BTreeMap<String, Vec<TopicId>> {
    let ada = &field.players["ada"];
    let (mirror, first) = (ada.net.mirror(), ada.me.account.number());
    let mut found: BTreeMap<String, Vec<TopicId>> = BTreeMap::new();
    let mut gap = 0;
    for number in first.. {
        let id = TopicId::new(0, 0, number).unwrap();
        let Some(facts) = mirror.topic(id).unwrap() else {
            gap += 1;
            if gap > 100 {
                return found;
            }
            continue;
        };
        gap = 0;
        let is_file = matches!(TopicMemo::read(&facts.memo), Ok((TopicMemo::File(_), _)));
        let sort = if is_file { "file".into() } else { facts.memo };
        found.entry(sort).or_default().push(id);
    }
    found
}

fn rounds(is_postgres: bool) {
    let mut field = Field::new(&["ada", "ben"], is_postgres);
    let files = topics(&field).get("file").map_or(0, Vec::len);
    let (mut deaths, mut round) = (0, 0);
    let mut large = 0;
    while deaths < DEATHS {
        round += 1;
        assert!(
            round < 3 * DEATHS,
            "hardly anybody dies: {deaths} of {round}"
        );
        field.advance_ms(31_000);
        let entity = format!("task:T-{}", round / 3);
        let mut text = format!("note {round}");
        if round % 4 == 0 {
            text.push_str(&noise(2_500));
            large += 1;
        }
        let from = if round % 2 == 0 { "ada" } else { "ben" };
        let note = json!({ "ref": entity, "note": text, "notify": ["engine"] });
        run::<Note>(&field.inbox, from, note);
        if round % 5 == 0 {
            let send = json!({ "to": [format!("role:r-{round}")], "subject": "work" });
            run::<Send>(&field.inbox, from, send);
        }
        let faults = field.stage.devnet.faults();
        faults.lose(u32::from(round % 7 == 0));
        faults.delay_receipts(u32::from(round % 6 == 0));
        let point = POINTS[round % POINTS.len()] as u32;
        // A topic, its messages and those of a file: each has its points.
        let time = 1 + round / POINTS.len() % 4;
        let ended = field.once(&[("INBOX_FAIL_POINT", format!("{point}:{time}"))]);
        match ended.status.signal() {
            Some(9) => deaths += 1,
            None if ended.status.success() => {}
            _ => panic!("{point}: {ended:?}"),
        }
    }
    for _ in 0..3 {
        field.advance_ms(600_000);
        let ended = field.once(&[]);
        assert!(ended.status.success(), "{ended:?}");
    }
    let standing = field.inbox.ledger_standing().unwrap();
    assert_eq!(standing.backlog.count, 0, "{standing:?}");
    let said = i64::try_from(round + 2 * (round / 5)).unwrap();
    assert_eq!(standing.records, [(RecordState::Confirmed, said)]);
    let made = topics(&field);
    assert_eq!(made["file"].len(), files + large);
    let mut notes = Vec::new();
    for topic in standing.topics {
        let (TopicPlace::Entity | TopicPlace::Role) = topic.place else {
            continue;
        };
        let memo = format!("inbox:{}:{}", topic.place.name(), topic.name);
        let ids: Vec<String> = made[&memo].iter().map(ToString::to_string).collect();
        assert_eq!(ids, [topic.topic.unwrap()], "{memo}");
        let mirror = field.players["ada"].net.mirror();
        inbox_bridge::history::messages(mirror, made[&memo][0], None, |said| {
            let said: Value = serde_json::from_slice(&said.bytes).unwrap();
            notes.push(said["x_uid"].as_str().unwrap().to_owned());
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    }
    let count = notes.len();
    notes.sort();
    notes.dedup();
    assert_eq!((notes.len(), count), (round + round / 5, round + round / 5));
    let notes = field.unread("engine").into_iter();
    let notes = notes.filter(|it| it.message_type.as_deref() == Some("task.note"));
    assert_eq!(notes.count(), round, "each was delivered once");
}

#[test]
fn bridges_that_die_while_they_make_topics_and_files_make_none_twice() {
    std::thread::scope(|scope| {
        scope.spawn(|| rounds(false));
        scope.spawn(|| rounds(true));
    });
}
