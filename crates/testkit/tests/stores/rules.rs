//! The fine print of cursors: how far bookmarks go, and what answers say of themselves.

use std::time::Duration;

use inbox_core::{Code, EventId, RefType, Status, ThreadId};
use inbox_ops::{
    Answer, Block, Caller, Cell, Claim, List, Mail, Operation, Page, Read, Send, Waiting, Watch,
    Watched,
};
use inbox_store::{DEAD_AFTER_MS, Location, ThreadRow};
use inbox_testkit::world::{World, by, by_sql, code, task};
use serde_json::json;

/// How far each bookmark goes, by the session it is of.
fn bookmarks(world: &World) -> Vec<(i64, i64)> {
    let Location::File(path) = world.location() else {
        panic!("a file")
    };
    let database = rusqlite::Connection::open(path).unwrap();
    let sql = "SELECT session_no, read_to FROM bookmarks ORDER BY session_no, read_to";
    let mut statement = database.prepare(sql).unwrap();
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)));
    rows.unwrap().map(Result::unwrap).collect()
}

/// Lets so many things happen elsewhere.
fn elsewhere(world: &World, count: i64) {
    for n in 0..count {
        world.mail("lead", &["other"], &format!("elsewhere {n}"));
    }
}

fn read(world: &World, caller: &Caller, limit: i64) {
    let request = Read {
        limit: Some(limit),
        ..Read::default()
    };
    world.call_as(caller, &request).unwrap();
}

#[test]
fn a_bookmark_goes_to_the_end_of_what_was_read() {
    let world = World::sqlite();
    world.mail("lead", &["backend"], "first");
    world.mail("lead", &["backend"], "second");
    elsewhere(&world, 3);
    read(&world, &by("backend"), 1);
    assert_eq!(bookmarks(&world), [(0, 1)], "up to the last of a cut page");
    read(&world, &by("backend"), 1);
    assert_eq!(bookmarks(&world), [(0, 5)], "up to now");
}

#[test]
fn who_finds_nothing_moves_its_bookmark_only_when_it_is_far_behind() {
    let world = World::sqlite();
    world.mail("lead", &["backend"], "first");
    read(&world, &by("backend"), 1);
    elsewhere(&world, 256);
    read(&world, &by("backend"), 1);
    assert_eq!(bookmarks(&world), [(0, 1)]);
    elsewhere(&world, 1);
    read(&world, &by("backend"), 1);
    assert_eq!(bookmarks(&world), [(0, 258)]);
    elsewhere(&world, 1);
    read(&world, &by("backend"), 1);
    assert_eq!(bookmarks(&world), [(0, 258)]);
}

#[test]
fn a_bookmark_of_a_tag_is_its_sessions_own() {
    let world = World::sqlite();
    world.start("other", "o-1", &[], &[]);
    let backend = world.start("backend", "b-1", &[], &["project:api"]);
    world.mail("lead", &["project:api"], "a word");
    read(&world, &backend, 10);
    assert!(bookmarks(&world).contains(&(2, 1)));
}

#[test]
fn who_has_never_been_seen_leaves_no_bookmark() {
    let world = World::sqlite();
    world.mail("lead", &["backend"], "a word");
    read(&world, &by("stranger"), 10);
    assert_eq!(bookmarks(&world), []);
}

/// What is on a page, without its shape.
fn lines(page: &Page) -> Vec<String> {
    let text = |cell: &Cell| format!("{cell:?}");
    let of_block = |block: &Block| match block {
        Block::Table { rows, .. } => rows.iter().flatten().map(text).collect::<String>(),
        Block::Line(cells) => cells.iter().map(text).collect(),
        Block::Text(text) => text.clone(),
    };
    page.blocks.iter().map(of_block).collect()
}

#[test]
fn mail_is_shown_with_what_is_left_and_an_empty_inbox_says_so() {
    let world = World::sqlite();
    let empty = world.call("backend", &Read::default()).unwrap();
    assert!(!empty.is_something());
    assert_eq!(empty.page(), Page::default().line("no new mail".to_owned()));
    world.mail("lead", &["backend"], "first");
    world.mail("lead", &["backend"], "second");
    let one = |peek| {
        let request = Read {
            peek,
            limit: Some(1),
            ..Read::default()
        };
        // As a server's client has it, which asked and knows how.
        let answer = world.call("backend", &request).unwrap();
        let text = serde_json::to_string(&answer).unwrap();
        let carried: Mail = serde_json::from_str(&text).unwrap();
        assert_eq!((carried.is_peek, answer.is_peek), (false, peek));
        let mail = request.completed(carried);
        assert_eq!(mail.is_peek, peek);
        mail
    };
    let (looked, taken) = (one(true), one(false));
    assert!(looked.is_something() && taken.is_something());
    assert_ne!(looked.page(), taken.page());
    let shown = lines(&taken.page());
    assert!(shown.concat().contains("first"), "{shown:?}");
    assert!(shown.last().unwrap().contains("1 unread"), "{shown:?}");
    let last = lines(&one(false).page());
    assert!(!last.concat().contains("unread"), "{last:?}");
}

#[test]
fn a_watch_is_over_when_something_happened_and_says_what() {
    let world = World::sqlite();
    world.send("lead", "backend", "work");
    let watch = |after| Watch {
        after_event: Some(EventId(after)),
        ..Watch::default()
    };
    let seen = |after| -> Watched { world.call_as(&Caller::local(None), &watch(after)).unwrap() };
    let (something, mut nothing) = (seen(0), seen(1));
    assert!(something.is_something() && Watch::is_over(&something));
    assert!(!nothing.is_something() && !Watch::is_over(&nothing));
    assert!(lines(&something.page()).concat().contains("created"));
    assert_eq!(nothing.page(), Page::default().events(&[]));
    nothing.go_on_at(EventId(7));
    assert_eq!(nothing.next_event_id, EventId(7));
}

#[test]
fn a_watch_lasts_as_long_as_it_was_told() {
    let watch = |timeout_seconds, follow| Watch {
        timeout_seconds,
        follow,
        ..Watch::default()
    };
    assert_eq!(watch(None, false).timeout(), None);
    assert_eq!(
        watch(Some(3), false).timeout(),
        Some(Duration::from_secs(3))
    );
    assert!(watch(None, true).is_stream() && !watch(None, false).is_stream());
}

#[test]
fn what_the_store_tells_of_threads_is_there() {
    let world = World::sqlite();
    let named = Send {
        payload_json: Some(json!({ "n": 1 })),
        ref_type: Some(RefType::Task),
        ref_id: "T-1".parse().ok(),
        ..task("backend", "named")
    };
    let first = world.post(&by("lead"), &named).thread.thread_id;
    let second = world.send("lead", "backend", "plain");
    world.claim("backend", second, 60);
    world.claim("backend", first, 600);
    let found = world.inbox().store().read(|tx| {
        let held = tx.held_threads(10)?;
        let about = tx.threads_by_ref(RefType::Task, "T-1", 10)?;
        let ids = |rows: Vec<ThreadRow>| -> Vec<ThreadId> {
            rows.into_iter().map(|row| row.thread.thread_id).collect()
        };
        assert_eq!(ids(held), [second, first], "who is late first");
        assert_eq!(ids(about), [first]);
        let opened = tx.thread_of_address(&"backend".parse().unwrap())?;
        assert_eq!(opened.map(|row| row.thread.thread_id), Some(first));
        assert!(tx.thread_of_address(&"nobody".parse().unwrap())?.is_none());
        assert_eq!(tx.opening_payload(first)?, Some(json!({ "n": 1 })));
        assert_eq!(tx.opening_payload(ThreadId::new(99))?, None);
        Ok(tx.counts()?)
    });
    let [threads, messages, events, agents] = found.unwrap();
    assert_eq!((threads, messages, events, agents), (2, 2, 4, 2));
}

#[test]
fn a_status_that_is_named_twice_is_named_once() {
    let world = World::sqlite();
    world.send("lead", "backend", "work");
    let list = List {
        status: vec![Status::Pending; 2],
        ..List::default()
    };
    assert_eq!(world.call("lead", &list).unwrap().threads.len(), 1);
}

#[test]
fn a_session_that_ended_is_reached_by_its_agents_name_alone() {
    let world = World::sqlite();
    let backend = world.start("backend", "b-1", &["builder"], &[]);
    world.mail("lead", &["role:builder"], "for the role");
    world.mail("lead", &["backend"], "for the agent");
    assert_eq!(world.unread(&backend), ["for the role", "for the agent"]);
    world.end(&backend);
    assert_eq!(world.unread(&backend), ["for the agent"]);
}

#[test]
fn a_silent_session_is_gone_when_its_time_is_over_and_not_before() {
    let world = World::sqlite();
    world.start("backend", "b-1", &["builder"], &[]);
    world.advance_ms(DEAD_AFTER_MS - 1);
    world.mail("lead", &["role:builder"], "a word");
    assert_eq!(world.unread(&by("backend")), ["a word"]);
    world.advance_ms(1);
    assert!(world.unread(&by("backend")).is_empty());
}

#[test]
fn where_work_was_lost_there_is_no_empty_claim_and_no_empty_inbox() {
    let world = World::sqlite();
    world.send("lead", "backend", "work");
    by_sql(
        world.location(),
        "DELETE FROM recipients; DELETE FROM deliveries",
    );
    let claimed = world.call("backend", &Claim::default());
    assert_eq!(code(claimed), Code::StoreCorrupt);
    let read = world.call("backend", &Read::default());
    assert_eq!(code(read), Code::StoreCorrupt);
}
