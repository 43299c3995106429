//! A move that dies, meets others, or is tampered with.

use std::sync::atomic::{AtomicBool, Ordering};

use inbox_core::{Code, EventId};
use inbox_ops::{Operation, Read, Show, Watch};
use inbox_store::{Location, Progress, Store, move_store};
use inbox_testkit::desk::{at, letter};
use inbox_testkit::sandbox::TempDir;
use inbox_testkit::world::{World, by, by_sql, code, task};

use crate::furnished::furnish;
use crate::{is_the_same, moved, world};

/// Begins a move and dies in it after so many reports; whether it did.
fn dies(from: &World, to: &Location, after: usize) -> bool {
    let mut count = 0;
    let die = std::panic::AssertUnwindSafe(|| {
        move_store(
            from.location(),
            to,
            &mut |_| {
                count += 1;
                if count == after {
                    std::panic::resume_unwind(Box::new("dies here"));
                }
            },
            &mut || Ok(()),
        )
    });
    std::panic::catch_unwind(die).is_err()
}

#[test]
fn a_move_that_dies_after_any_batch_goes_on() {
    for (is_postgres, to_postgres) in [(false, false), (false, true), (true, false)] {
        let folder = TempDir::new();
        let from = world(is_postgres);
        let held = furnish(&from);
        for n in 0..80 {
            from.post(&by("lead"), &letter(&["backend"], &format!("many {n}")));
        }
        let whole = moved(&from, &World::place(&folder, "whole.db", to_postgres));
        let mut after = 1;
        loop {
            let to = World::place(&folder, &format!("{after}.db"), to_postgres);
            if !dies(&from, &to, after) {
                break;
            }
            // Nobody else may use it meanwhile.
            let Err(error) = Store::open(&to) else {
                panic!("it opens")
            };
            let refusal = inbox_core::Refusal::from(error);
            assert_eq!(refusal.code, Code::StoreMoving);
            assert!(
                refusal.hint.starts_with("inbox migrate --from "),
                "{}",
                refusal.hint
            );
            // Of another source, it is refused.
            let other = World::sqlite();
            let mixed = move_store(other.location(), &to, &mut |_| (), &mut || Ok(()));
            assert_eq!(code(mixed), Code::AlreadyExists);
            let rest = moved(&from, &to);
            assert!(rest.resumed && !rest.restarted);
            assert_eq!(rest.sha256, whole.sha256);
            after += 7;
            if after > 15 && !to_postgres {
                after += 3;
            }
        }
        assert!(after > 20, "{after}");
        let to = World::place(&folder, "last.db", to_postgres);
        assert!(dies(&from, &to, 3) && dies(&from, &to, 3) && dies(&from, &to, 4));
        moved(&from, &to);
        is_the_same(&from, &held, &to);
    }
}

#[test]
fn a_source_that_changed_since_a_move_died_is_copied_from_the_beginning() {
    for to_postgres in [false, true] {
        let folder = TempDir::new();
        let from = World::sqlite();
        let held = furnish(&from);
        let to = World::place(&folder, "seen.db", to_postgres);
        assert!(dies(&from, &to, 12));
        // An event that everybody sees.
        from.send("lead", "backend", "later");
        let rest = moved(&from, &to);
        assert!(rest.restarted && !rest.resumed);
        is_the_same(&from, &held, &to);
        let to = World::place(&folder, "unseen.db", to_postgres);
        assert!(dies(&from, &to, 12));
        // And what leaves neither an event nor a row.
        from.advance_ms(120_000);
        let reader = at("backend", "b-1");
        from.call_as(&reader, &inbox_ops::SessionBeat::default())
            .unwrap();
        let rest = moved(&from, &to);
        assert!(rest.restarted && !rest.resumed);
        is_the_same(&from, &held, &to);
    }
}

#[test]
fn rows_that_do_not_fit_what_was_copied_before_are_copied_from_the_beginning() {
    for to_postgres in [false, true] {
        let folder = TempDir::new();
        let from = World::sqlite();
        for n in 0..80 {
            from.post(&by("lead"), &letter(&["backend"], &format!("many {n}")));
        }
        by_sql(
            from.location(),
            "UPDATE entries SET uid = 'one' WHERE entry_no = 1",
        );
        let to = World::place(&folder, "to.db", to_postgres);
        // After the first batch of entries: threads and recipients are two each.
        assert!(dies(&from, &to, 10));
        by_sql(
            from.location(),
            "UPDATE entries SET uid = 'two' WHERE entry_no = 1; UPDATE entries SET uid = 'one' WHERE entry_no = 80",
        );
        assert!(moved(&from, &to).restarted);
    }
}

#[test]
fn a_wrong_row_is_found_and_named() {
    let changes = [
        (
            "UPDATE threads SET lease_secret = lease_secret + 1 WHERE lease_secret IS NOT NULL",
            "threads",
        ),
        (
            "UPDATE entries SET body = 'other' WHERE event_type = 1",
            "entries",
        ),
        ("UPDATE replays SET answer = answer || ' '", "replays"),
        ("DELETE FROM receipts", "receipts"),
        ("UPDATE bookmarks SET read_to = read_to + 1", "bookmarks"),
        (
            "UPDATE deliveries SET is_acked = 1 - is_acked",
            "deliveries",
        ),
        (
            "INSERT INTO memberships (session_no, address_no) SELECT s.session_no, a.address_no FROM sessions s, addresses a WHERE a.mode = 1 AND NOT EXISTS (SELECT 1 FROM memberships m WHERE m.session_no = s.session_no AND m.address_no = a.address_no)",
            "memberships",
        ),
        ("INSERT INTO meta (name, value) VALUES ('odd', '1')", "meta"),
    ];
    let folder = TempDir::new();
    let from = World::postgres();
    furnish(&from);
    for (n, (sql, table)) in changes.into_iter().enumerate() {
        for to_postgres in [false, true] {
            let to = World::place(&folder, &format!("{n}.db"), to_postgres);
            let mut is_done = false;
            let plant = &mut |progress: Progress| {
                if progress.is_comparing && !is_done {
                    is_done = true;
                    by_sql(&to, sql);
                }
            };
            let refusal = move_store(from.location(), &to, plant, &mut || Ok(())).unwrap_err();
            assert_eq!(refusal.code, Code::VerifyMismatch, "{sql}: {refusal:?}");
            assert_eq!(refusal.details["table"], table, "{sql}");
            assert!(!refusal.details["key"].as_str().unwrap().is_empty());
            assert!(Store::open(&to).is_err());
            // Nothing but the copy was wrong.
            assert!(moved(&from, &to).restarted);
        }
    }
}

#[test]
fn others_may_write_to_the_source_meanwhile() {
    for (is_postgres, to_postgres) in [(false, true), (true, false), (false, false)] {
        let folder = TempDir::new();
        let from = world(is_postgres);
        furnish(&from);
        let to = World::place(&folder, "to.db", to_postgres);
        let is_over = AtomicBool::new(false);
        let outcome = std::thread::scope(|scope| {
            for writer in ["lead", "critic"] {
                let (inbox, is_over) = (from.another(), &is_over);
                scope.spawn(move || {
                    for n in 0..400 {
                        if is_over.load(Ordering::SeqCst) {
                            break;
                        }
                        let request = task("backend", &format!("{writer} meanwhile {n}"));
                        request.run(&inbox, &by(writer)).unwrap();
                        let read = Read::default();
                        read.run(&inbox, &at("backend", "b-1")).unwrap();
                    }
                });
            }
            let outcome = move_store(from.location(), &to, &mut |_| (), &mut || Ok(()));
            is_over.store(true, Ordering::SeqCst);
            outcome
        })
        .unwrap();
        assert!(!outcome.restarted);
        // The copy is what the source was at one moment: its events are the source's up to there.
        let there = from.beside(to);
        let newest = there.inbox().store().newest_event().unwrap();
        assert_eq!(newest, outcome.next_event_id);
        let events = |world: &World| {
            let watch = Watch {
                after_event: Some(EventId(0)),
                ..Watch::default()
            };
            let nobody = inbox_ops::Caller::local(None);
            let found = world.call_as(&nobody, &watch).unwrap().events;
            let found: Vec<_> = found
                .into_iter()
                .filter(|event| event.event_id <= newest)
                .collect();
            serde_json::to_value(found).unwrap()
        };
        assert_eq!(events(&there), events(&from));
        for thread in there
            .call("lead", &inbox_ops::List::default())
            .unwrap()
            .threads
        {
            let shown = there.call("lead", &Show::of(thread.thread_id)).unwrap();
            let last = shown.messages.last().unwrap().message_id;
            assert_eq!(thread.latest_message_id, Some(last));
        }
        assert!(there.inbox().store().check().unwrap().is_empty());
    }
}

#[test]
fn of_two_moves_into_one_store_one_gives_way() {
    for to_postgres in [false, true] {
        let folder = TempDir::new();
        let from = World::sqlite();
        let held = furnish(&from);
        let to = World::place(&folder, "to.db", to_postgres);
        let mut count = 0;
        let overtaken = move_store(
            from.location(),
            &to,
            &mut |_| {
                count += 1;
                if count == 4 {
                    assert!(moved(&from, &to).resumed);
                }
            },
            &mut || Ok(()),
        );
        assert_eq!(code(overtaken), Code::AlreadyExists);
        is_the_same(&from, &held, &to);
    }
}
