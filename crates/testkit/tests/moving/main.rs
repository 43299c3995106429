//! A store that moves into another one, of either sort: everything that programs can see stays as it is.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod archived;
mod disturbed;
mod furnished;

use std::collections::BTreeSet;

use furnished::{Held, PLAIN, difference, furnish, seen};
use inbox_core::{Code, EventId};
use inbox_ops::{AgentAdd, Archive, Config, Operation, Read, Renew, Search, Watch};
use inbox_store::{Location, Moved, known_columns, move_store};
use inbox_testkit::cluster;
use inbox_testkit::desk::keyed;
use inbox_testkit::sandbox::TempDir;
use inbox_testkit::world::{World, by, by_sql, code, with_token};

fn moved(from: &World, to: &Location) -> Moved {
    move_store(from.location(), to, &mut |_| (), &mut || Ok(())).unwrap()
}

fn world(is_postgres: bool) -> World {
    if is_postgres {
        World::postgres()
    } else {
        World::sqlite()
    }
}

fn schema(location: &Location) -> &str {
    let Location::Postgres(url) = location else {
        panic!("a URL")
    };
    url.split("schema=").nth(1).unwrap()
}

/// The rows of a PostgreSQL store, as they are.
fn dump(location: &Location) -> Vec<String> {
    let schema = schema(location);
    let tables: BTreeSet<_> = known_columns()
        .into_iter()
        .map(|(table, _)| table)
        .collect();
    let rows = |table: &&str| {
        cluster::shared().psql(&format!(
            "SELECT t::text FROM {schema}.{table} t ORDER BY 1"
        ))
    };
    tables.iter().map(rows).collect()
}

/// Everything looks the same there, and goes on from there: the old proofs, cursors and keys are good.
fn is_the_same(from: &World, held: &Held, to: &Location) -> World {
    let other = from.beside(to.clone());
    assert_eq!(difference(&seen(&other), &seen(from)), None);
    other.inbox().store().prepare_all().unwrap();
    assert!(other.inbox().store().check().unwrap().is_empty());
    if let Location::File(path) = to {
        // Plain SQL clients know messages by their UUIDs.
        let database = rusqlite::Connection::open(path).unwrap();
        let text = "SELECT DISTINCT id FROM inbox WHERE id NOT IN (SELECT uid FROM intake)";
        let mut statement = database.prepare(text).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        let found: BTreeSet<String> = rows.collect::<Result<_, _>>().unwrap();
        let threads = from
            .call("lead", &inbox_ops::List::default())
            .unwrap()
            .threads;
        let shown = threads
            .iter()
            .flat_map(|thread| from.shown(thread.thread_id));
        let expected: BTreeSet<String> = shown.map(|message| message.uid).collect();
        assert_eq!(found, expected);
    }
    // What was answered under a key is answered again.
    let again = other.call_as(&held.keyed, &held.request).unwrap();
    assert_eq!(
        serde_json::to_value(&again).unwrap(),
        serde_json::to_value(&held.answer).unwrap()
    );
    other
}

/// Goes on writing in a store that has moved: nothing collides with what was there.
fn goes_on(world: &World, held: &Held) {
    let before = seen(world);
    let ids = |seen: &serde_json::Value| -> BTreeSet<String> {
        let events = seen["events"]["0"]["events"].as_array().unwrap().clone();
        let id = |event: &serde_json::Value| event["message_id"].as_str().map(str::to_owned);
        events.iter().filter_map(id).collect()
    };
    let newest = world.inbox().store().newest_event().unwrap();
    let renew = Renew {
        thread: held.thread,
        lease_seconds: Some(900),
    };
    world.call_as(&with_token(held.token), &renew).unwrap();
    let sent: Vec<_> = (0..3)
        .map(|n| world.mail("lead", &["backend"], &format!("afterwards {n}")))
        .collect();
    let known = ids(&before);
    let mut new = BTreeSet::new();
    for posted in &sent {
        let id = posted.message.message_id.to_string();
        assert!(!known.contains(&id), "{id} was given before");
        assert!(new.insert(id));
        assert_eq!(world.shown(posted.thread.thread_id).len(), 1);
    }
    let watch = Watch {
        after_event: Some(newest),
        ..Watch::default()
    };
    let woken = world
        .call_as(&inbox_ops::Caller::local(None), &watch)
        .unwrap();
    let found: Vec<_> = woken
        .events
        .iter()
        .filter_map(|event| event.message_id)
        .collect();
    let expected: Vec<_> = sent
        .iter()
        .map(|posted| posted.message.message_id)
        .collect();
    assert_eq!(found, expected);
    // A message of the past is read, acknowledged and answered by its id.
    let mail = world.call("backend", &Read::default()).unwrap();
    assert!(mail.messages.len() > sent.len());
    for message in &mail.messages {
        assert_eq!(
            world
                .shown(message.thread_id)
                .iter()
                .filter(|one| one.uid == message.uid)
                .count(),
            1
        );
        let ladder = inbox_ops::Receipts {
            message: message.message_id,
        };
        let ladder = world.call("backend", &ladder).unwrap();
        assert!(serde_json::to_string(&ladder).unwrap().contains("backend"));
    }
    let first = mail.messages.first().unwrap();
    let acked = world.ack(&by("backend"), first.message_id).unwrap();
    assert_eq!(acked.acked.len(), 1);
    assert!(world.unread(&by("backend")).is_empty());
}

#[test]
fn a_store_moves_in_every_direction_and_looks_the_same_there() {
    for is_postgres in [false, true] {
        let folder = TempDir::new();
        let from = world(is_postgres);
        let held = furnish(&from);
        for to_postgres in [false, true] {
            let to = World::place(&folder, &format!("to-{is_postgres}.db"), to_postgres);
            let first = moved(&from, &to);
            assert!(!first.resumed && !first.restarted);
            assert_eq!(
                first.next_event_id,
                from.inbox().store().newest_event().unwrap()
            );
            let there = is_the_same(&from, &held, &to);
            // And back again, into the first sort of database.
            let back = World::place(
                &folder,
                &format!("back-{is_postgres}-{to_postgres}.db"),
                is_postgres,
            );
            let second = moved(&there, &back);
            assert_eq!((&second.sha256, &second.rows), (&first.sha256, &first.rows));
            let home = is_the_same(&from, &held, &back);
            if is_postgres {
                assert_eq!(dump(&back), dump(from.location()));
            }
            goes_on(&there, &held);
            goes_on(&home, &held);
            // What was written there moves on as well.
            let third = World::place(
                &folder,
                &format!("third-{is_postgres}-{to_postgres}.db"),
                is_postgres,
            );
            moved(&there, &third);
            assert_eq!(difference(&seen(&from.beside(third)), &seen(&there)), None);
        }
    }
}

#[test]
fn what_a_plain_sql_client_left_is_taken_in_where_it_moved_to() {
    for is_postgres in [false, true] {
        let folder = TempDir::new();
        let from = world(is_postgres);
        by_sql(from.location(), PLAIN);
        let to = World::place(&folder, "to.db", !is_postgres);
        assert_eq!(moved(&from, &to).rows["intake"], 1);
        let there = from.beside(to);
        assert_eq!(there.unread(&by("backend")), ["by SQL"]);
    }
}

#[test]
fn a_key_that_was_given_before_any_mail_is_known_where_the_store_moved_to() {
    for is_postgres in [false, true] {
        let folder = TempDir::new();
        let from = world(is_postgres);
        let caller = keyed(&by("lead"), "k1");
        let add = AgentAdd {
            slug: Some("backend".parse().unwrap()),
            ..AgentAdd::default()
        };
        let first = serde_json::to_value(from.call_as(&caller, &add).unwrap()).unwrap();
        for to_postgres in [false, true] {
            let to = World::place(&folder, &format!("{is_postgres}.db"), to_postgres);
            assert_eq!(moved(&from, &to).rows["replays"], 1);
            let there = from.beside(to);
            let again = there.call_as(&caller, &add).unwrap();
            assert_eq!(serde_json::to_value(again).unwrap(), first);
            there.send("lead", "backend", "work");
        }
    }
}

#[test]
fn the_numbers_of_the_furnished_postgresql_store_are_not_those_of_its_events() {
    let from = World::postgres();
    furnish(&from);
    let schema = schema(from.location());
    let count = |filter: &str| -> i64 {
        let text = format!("SELECT count(*) FROM {schema}.entries a {filter}");
        cluster::shared().psql(&text).parse().unwrap()
    };
    assert!(count("WHERE entry_no > event_id") > 5);
    assert!(
        count(&format!(
            "JOIN {schema}.entries b ON a.entry_no < b.entry_no AND a.event_id > b.event_id"
        )) > 5
    );
}

#[test]
fn a_number_that_was_given_in_postgresql_is_given_to_nothing_else_in_sqlite() {
    let folder = TempDir::new();
    let from = World::postgres();
    furnish(&from);
    let to = World::place(&folder, "to.db", false);
    moved(&from, &to);
    let there = from.beside(to);
    let all: BTreeSet<i64> = {
        let watch = Watch {
            after_event: Some(EventId(0)),
            ..Watch::default()
        };
        let events = there
            .call_as(&inbox_ops::Caller::local(None), &watch)
            .unwrap()
            .events;
        events
            .iter()
            .filter_map(|event| event.message_id)
            .map(inbox_core::MessageId::key)
            .collect()
    };
    let greatest = *all.iter().max().unwrap();
    assert!(
        greatest > there.inbox().store().newest_event().unwrap().0 + 1000,
        "numbers are ahead of events"
    );
    // Everything that can leave the store leaves it, and is found where it is now.
    there.advance_ms(1000 * 86_400_000);
    let config = Config {
        folder: Some(folder.path().to_owned()),
        ..Config::default()
    };
    let inbox = there.another().with_config(config);
    let found = || -> BTreeSet<String> {
        let search = Search {
            query: "piece".into(),
            limit: Some(100),
            ..Search::default()
        };
        let found = search.run(&inbox, &by("lead")).unwrap();
        found
            .hits
            .iter()
            .map(|hit| hit.message.message_id.to_string())
            .collect()
    };
    let before = found();
    assert!(before.len() >= 7);
    let archive = Archive {
        older_than_days: Some(1),
        ..Archive::default()
    };
    let archived = archive.run(&inbox, &by("lead")).unwrap();
    assert!(archived.threads >= 3, "{archived:?}");
    assert_eq!(found(), before);
    let posted = there.mail("lead", &["backend"], "new");
    let given = posted.message.message_id.key();
    assert!(given > greatest, "{given}");
    let next = there.mail("lead", &["backend"], "newer");
    assert_eq!(next.message.message_id.key(), given + 1);
    assert_eq!(next.next_event_id.0, given + 1);
    // Ids that no message had there are nobody's here, whatever events have those numbers.
    let watch = Watch {
        after_event: Some(EventId(0)),
        ..Watch::default()
    };
    for event in there
        .call_as(&inbox_ops::Caller::local(None), &watch)
        .unwrap()
        .events
    {
        let number = event.event_id.0;
        if !all.contains(&number) && number <= greatest {
            let ladder = inbox_ops::Receipts {
                message: inbox_core::MessageId::new(number),
            };
            assert_eq!(code(there.call("lead", &ladder)), Code::MessageNotFound);
        }
    }
}

#[test]
fn a_store_that_holds_something_is_refused() {
    for is_postgres in [false, true] {
        let (from, to) = (World::sqlite(), world(is_postgres));
        from.send("lead", "backend", "here");
        to.send("lead", "backend", "there");
        let before = seen(&to);
        let refused = move_store(from.location(), to.location(), &mut |_| (), &mut || Ok(()));
        assert_eq!(code(refused), Code::AlreadyExists);
        assert_eq!(seen(&to), before);
        let itself = move_store(
            from.location(),
            from.location(),
            &mut |_| (),
            &mut || Ok(()),
        );
        assert_eq!(code(itself), Code::InvalidInput);
        // An empty one is taken.
        let empty = world(is_postgres);
        moved(&from, empty.location());
        let again = move_store(from.location(), empty.location(), &mut |_| (), &mut || {
            Ok(())
        });
        assert_eq!(code(again), Code::AlreadyExists);
    }
}

#[test]
fn every_table_and_column_of_both_databases_is_copied() {
    let known: BTreeSet<(String, String)> = known_columns()
        .into_iter()
        .map(|(table, column)| (table.to_owned(), column.to_owned()))
        .collect();
    let from = World::sqlite();
    let Location::File(path) = from.location() else {
        panic!("a file")
    };
    let database = rusqlite::Connection::open(path).unwrap();
    let text = "SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
                 WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%'";
    let mut statement = database.prepare(text).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    let sqlite: BTreeSet<(String, String)> = rows.unwrap().collect::<Result<_, _>>().unwrap();
    let other = World::postgres();
    let text = format!(
        "SELECT c.table_name, c.column_name FROM information_schema.columns c
           JOIN information_schema.tables t USING (table_schema, table_name)
          WHERE t.table_type = 'BASE TABLE' AND c.table_schema = '{}'",
        schema(other.location())
    );
    let lines = cluster::shared().psql(&text);
    let cells = lines.lines().filter_map(|line| line.split_once('|'));
    let mut postgres: BTreeSet<(String, String)> = cells
        .map(|(table, column)| (table.to_owned(), column.to_owned()))
        .collect();
    // Made again by the first search.
    postgres.retain(|(table, _)| !table.starts_with("search_") && table != "listeners");
    assert_eq!(known, postgres);
    // The number of an event is SQLite's key.
    let mut known = known;
    known.retain(|(_, column)| column != "event_id");
    assert_eq!(known, sqlite);
}
