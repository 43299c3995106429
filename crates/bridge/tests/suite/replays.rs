//! A topic on which everything is said again and again, and bridges that die in the midst of it: each message is taken in once.

use std::os::unix::process::ExitStatusExt;

use inbox_store::{FLOOD, FailPoint, RecordState};

use crate::field::Field;
use crate::flood::{count, good, mail};

/// How many messages there are, and how often each is said.
const ROWS: usize = 1_000;
const TIMES: usize = 10;

fn replays(is_postgres: bool) {
    let mut field = Field::new(&["ada", "ben", "cyd"], is_postgres);
    let number = |id: u64| i64::try_from(id).unwrap();
    let ada = number(field.players["ada"].me.account.number());
    let [ben, cyd] =
        ["ben", "cyd"].map(|name| number(field.players[name].me.inbound_topic.number()));
    let rows: Vec<_> = (0..ROWS).map(|row| (ada, mail(&field, row))).collect();
    for time in 0..TIMES {
        let poured = field.stage.devnet.pour(ben, rows.iter().cloned());
        assert!(poured.unwrap());
        // One that dies among the messages of a page, each time of a later one, and one that goes on from there.
        let point = format!("{}:{}", FailPoint::BridgeMidst as u32, time * 100 + 50);
        let ended = field.once(&[("INBOX_FAIL_POINT", point)]);
        assert_eq!(ended.status.signal(), Some(9), "{ended:?}");
        // As if the lease of the one that died were over.
        field.advance_ms(31_000);
        let ended = field.once(&[]);
        assert!(ended.status.success(), "{ended:?}");
        assert_eq!(
            field.topic("ben").sequence,
            number((ROWS * (time + 1)) as u64)
        );
    }
    // On another's topic, too.
    assert!(field.stage.devnet.pour(cyd, rows.into_iter()).unwrap());
    field.settle();

    let wanted: Vec<_> = (0..ROWS).map(|row| format!("good {row}")).collect();
    assert_eq!(good(&field, "ben"), wanted);
    assert_eq!(good(&field, "cyd"), [] as [&str; 0]);
    let rows = number(ROWS as u64);
    let again = rows * number(TIMES as u64);
    assert_eq!(count(&field.inbox, RecordState::Taken), rows);
    assert_eq!(count(&field.inbox, RecordState::Repeated), 2 * FLOOD);
    let floods = field.inbox.ledger_standing().unwrap().floods;
    assert_eq!(floods, again - 2 * FLOOD);
}

#[test]
fn a_thousand_messages_that_are_said_ten_times_among_restarts_are_taken_in_once_each() {
    std::thread::scope(|scope| {
        scope.spawn(|| replays(false));
        scope.spawn(|| replays(true));
    });
}
