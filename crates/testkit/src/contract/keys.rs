//! A retried command with the same key has one effect.

use inbox_core::record::Millis;
use inbox_core::{Code, ThreadId};
use inbox_ops::{AgentAdd, Archive, Caller, Cancel, Claim, Config, Done, Operation, Send};
use inbox_store::Location;

use crate::desk::keyed;
use crate::sandbox::TempDir;
use crate::world::{World, by, by_sql, code, task};

pub fn a_keyed_retry_gives_the_first_answer_unchanged(world: &World) {
    let caller = keyed(&by("lead"), "k1");
    let first = world
        .call_as(&caller, &task("backend", "once"))
        .expect("a send succeeds");
    world.advance_ms(5_000);
    let again = world
        .call_as(&caller, &task("backend", "once"))
        .expect("a retry succeeds");
    assert_eq!(
        serde_json::to_value(&first).ok(),
        serde_json::to_value(&again).ok()
    );
    let threads = world
        .call("x", &inbox_ops::List::default())
        .expect("a list succeeds")
        .threads;
    assert_eq!(threads.len(), 1);
}

pub fn a_keyed_claim_gives_its_token_again(world: &World) {
    world.send("lead", "backend", "work");
    let caller = keyed(&by("backend"), "k1");
    let first = world
        .call_as(&caller, &Claim::default())
        .expect("there is work");
    let again = world
        .call_as(&caller, &Claim::default())
        .expect("a retry succeeds");
    assert_eq!(first.lease, again.lease);
    assert!(again.lease.and_then(|lease| lease.lease_token).is_some());
}

pub fn a_keyed_write_is_remembered_before_there_is_any_mail(world: &World) {
    let caller = keyed(&by("lead"), "k1");
    let add = AgentAdd {
        slug: Some("backend".parse().expect("a good name")),
        ..AgentAdd::default()
    };
    let add = || world.call_as(&caller, &add).expect("the first, or a retry");
    let first = serde_json::to_value(add()).ok();
    assert_eq!(first, serde_json::to_value(add()).ok());
    world.send("lead", "backend", "work");
    assert_eq!(first, serde_json::to_value(add()).ok());
}

/// In PostgreSQL, lets the next entry's key be after this one, whatever keys there are: of those who write at once one may have the
/// smaller key and the later event.
fn jump(world: &World, key: i64) {
    if let Location::Postgres(_) = world.location() {
        let text = format!("SELECT setval(pg_get_serial_sequence('entries', 'entry_no'), {key})");
        by_sql(world.location(), &text);
    }
}

/// Moves all that is over out of a store.
fn archive(world: &World) -> i64 {
    let folder = TempDir::new();
    let config = Config {
        folder: Some(folder.path().to_owned()),
        ..Config::default()
    };
    let archive = Archive {
        keep: Some(0),
        ..Archive::default()
    };
    let inbox = world.another().with_config(config);
    let moved = archive.run(&inbox, &by("lead")).expect("it archives");
    moved.threads
}

fn cancel(world: &World, thread: ThreadId) {
    let cancel = Cancel {
        thread,
        reason: None,
    };
    world.call("lead", &cancel).expect("it is open");
}

pub fn a_keyed_retry_after_its_thread_was_archived_gives_the_first_answer_unchanged(world: &World) {
    let shown = |answer: &inbox_ops::Posted| serde_json::to_value(answer).expect("JSON");
    let keys = ["k1", "k2", "k3"];
    let send = |key: &str| {
        let sent = world.call_as(&keyed(&by("lead"), key), &task("backend", key));
        sent.expect("the first, or a retry")
    };
    // The later the event, the smaller the key.
    jump(world, 5000);
    world.send("lead", "backend", "before");
    let first: Vec<_> = [4000, 3000, 2000]
        .into_iter()
        .zip(keys)
        .map(|(key, name)| {
            jump(world, key);
            send(name)
        })
        .collect();
    jump(world, 1000);
    let add = AgentAdd {
        slug: Some("critic".parse().expect("a good name")),
        ..AgentAdd::default()
    };
    let add = || {
        world
            .call_as(&keyed(&by("lead"), "k4"), &add)
            .expect("the first, or a retry")
    };
    let added = serde_json::to_value(add()).ok();
    cancel(world, first[0].thread.thread_id);
    cancel(world, first[1].thread.thread_id);
    jump(world, 6000);
    world.send("lead", "backend", "after");
    for is_archived in [false, true] {
        if is_archived {
            assert_eq!(archive(world), 2);
        }
        for (key, first) in keys.into_iter().zip(&first) {
            assert_eq!(shown(&send(key)), shown(first), "{key}, {is_archived}");
        }
        assert_eq!(serde_json::to_value(add()).ok(), added, "{is_archived}");
    }
    // What was repeated is no event.
    assert_eq!(archive(world), 0);
}

pub fn what_is_written_after_an_archive_began_is_not_archived_by_it(world: &World) {
    let early = world.send("lead", "backend", "early");
    cancel(world, early);
    let both = world.send("lead", "backend", "both");
    cancel(world, both);
    let store = world.inbox().store();
    let settled = store.settle_keys().expect("it settles");
    let reply = Send {
        thread: Some(both),
        summary: Some("one more".into()),
        ..Send::default()
    };
    world
        .call("lead", &reply)
        .expect("a final thread takes mail");
    let late = world.send("lead", "backend", "late");
    cancel(world, late);
    world.send("lead", "backend", "newest");
    let archivable = |settled| {
        let found = store.read(|tx| {
            let before = Millis(tx.now().0 + 1);
            Ok(tx.archivable(before, settled, None, 10)?)
        });
        let rows = found.expect("it reads");
        let ids = rows.iter().map(|row| row.thread.thread_id);
        ids.collect::<Vec<_>>()
    };
    assert_eq!(archivable(settled), [early]);
    let settled = store.settle_keys().expect("it settles");
    assert_eq!(archivable(settled), [early, both, late]);
}

pub fn a_key_with_other_content_is_a_conflict(world: &World) {
    let caller = keyed(&by("lead"), "k1");
    world
        .call_as(&caller, &task("backend", "once"))
        .expect("a send succeeds");
    assert_eq!(
        code(world.call_as(&caller, &task("backend", "twice"))),
        Code::KeyConflict
    );
    // The key is its sender's: another may use the same.
    world
        .call_as(&keyed(&by("boss"), "k1"), &task("backend", "twice"))
        .expect("another sender's key");
}

pub fn refusals_and_empty_claims_are_not_remembered(world: &World) {
    let caller = keyed(&by("backend"), "k1");
    assert!(
        world
            .call_as(&caller, &Claim::default())
            .expect("nothing is no error")
            .thread
            .is_none()
    );
    let thread = world.send("lead", "backend", "work");
    assert!(
        world
            .call_as(&caller, &Claim::default())
            .expect("there is work")
            .thread
            .is_some()
    );
    let done = Done {
        thread,
        summary: Some("done".into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    };
    assert_eq!(
        code(world.call_as(&keyed(&by("other"), "k2"), &done)),
        Code::LeaseConflict
    );
    world
        .call_as(&keyed(&by("backend"), "k3"), &done)
        .expect("the holder may");
    // Looked up before any rule: the thread is final, and the retry still gets its answer.
    world
        .call_as(&keyed(&by("backend"), "k3"), &done)
        .expect("a retry succeeds");
}

pub fn a_keyed_retry_by_token_works_after_the_work_is_over(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let token = world.claim("backend", thread, 600);
    let caller = Caller {
        lease: Some(token),
        key: "k9".parse().ok(),
        ..Caller::local(None)
    };
    let done = Done {
        thread,
        summary: Some("done".into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    };
    let first = world.call_as(&caller, &done).expect("the holder may");
    let again = world.call_as(&caller, &done).expect("a retry succeeds");
    assert_eq!(first.message, again.message);
    assert_eq!(first.next_event_id, again.next_event_id);
}

pub fn a_keyed_message_is_added_once(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let request = Send {
        thread: Some(thread),
        summary: Some("by the way".into()),
        ..Send::default()
    };
    for _ in 0..3 {
        world
            .call_as(&keyed(&by("lead"), "k1"), &request)
            .expect("it succeeds");
    }
    let shown = world
        .call("x", &inbox_ops::Show::of(thread))
        .expect("it is there");
    assert_eq!(shown.messages.len(), 2);
}

pub fn a_keyed_note_keeps_the_words_of_what_it_is_about(world: &World) {
    let request: inbox_ops::Note = serde_json::from_value(serde_json::json!({
        "ref": "task:Fix the Login",
        "note": "half done",
        "notify": ["backend"],
    }))
    .expect("a good request");
    let post = || {
        let posted = world.call_as(&keyed(&by("lead"), "k1"), &request);
        serde_json::to_value(posted.expect("it succeeds")).expect("JSON")
    };
    let first = post();
    assert_eq!(first["thread"]["to"][0], "task:Fix the Login");
    assert_eq!(post(), first);
}
