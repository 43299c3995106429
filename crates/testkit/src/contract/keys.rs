//! A retried command with the same key has one effect.

use inbox_core::Code;
use inbox_ops::{AgentAdd, Caller, Claim, Done, Send};

use crate::desk::keyed;
use crate::world::{World, by, code, task};

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
