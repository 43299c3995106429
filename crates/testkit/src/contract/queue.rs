//! What is claimable, in which order, and what only looks.

use inbox_core::{EventId, Kind, Priority, Status, ThreadId};
use inbox_ops::{Caller, Claim, Done, Fetch, List, Send, Threads};

use crate::world::{World, by, code, task, with_token};

fn ids(threads: &Threads) -> Vec<ThreadId> {
    threads
        .threads
        .iter()
        .map(|thread| thread.thread_id)
        .collect()
}

fn fetch(world: &World, agent: &str) -> Vec<ThreadId> {
    ids(&world
        .call(agent, &Fetch::default())
        .expect("a fetch succeeds"))
}

pub fn the_most_urgent_then_the_oldest_is_claimed_first(world: &World) {
    let send = |priority: Priority| {
        let request = Send {
            priority: Some(priority),
            ..task("backend", "work")
        };
        world
            .call("lead", &request)
            .expect("a send succeeds")
            .thread
            .thread_id
    };
    let [low, normal, urgent, other, high] = [
        Priority::Low,
        Priority::Normal,
        Priority::Urgent,
        Priority::Normal,
        Priority::High,
    ]
    .map(send);
    let order = vec![urgent, high, normal, other, low];
    assert_eq!(fetch(world, "backend"), order);
    for expected in order {
        let leased = world
            .call("backend", &Claim::default())
            .expect("there is work");
        assert_eq!(leased.thread.map(|thread| thread.thread_id), Some(expected));
    }
    let none = world
        .call("backend", &Claim::default())
        .expect("nothing is no error");
    assert!(none.thread.is_none() && none.lease.is_none());
}

pub fn a_lapsed_lease_is_claimable_in_its_old_place(world: &World) {
    let first = world.send("lead", "backend", "first");
    let second = world.send("lead", "backend", "second");
    world.claim("other", first, 1);
    assert_eq!(fetch(world, "backend"), vec![second]);
    world.advance_ms(1_000);
    assert_eq!(fetch(world, "backend"), vec![first, second]);
    let leased = world
        .call("backend", &Claim::default())
        .expect("there is work");
    assert_eq!(
        leased
            .thread
            .map(|thread| (thread.thread_id, thread.attempts)),
        Some((first, 2))
    );
}

pub fn work_for_several_is_claimed_by_one(world: &World) {
    let request = Send {
        to: vec!["a".parse().expect("a name"), "b".parse().expect("a name")],
        ..task("a", "shared")
    };
    let thread = world
        .call("lead", &request)
        .expect("a send succeeds")
        .thread
        .thread_id;
    assert_eq!(
        (fetch(world, "a"), fetch(world, "b")),
        (vec![thread], vec![thread])
    );
    world.call("b", &Claim::default()).expect("there is work");
    assert!(fetch(world, "a").is_empty() && fetch(world, "b").is_empty());
    let release = inbox_ops::Release { thread };
    world.call("b", &release).expect("the holder may");
    assert_eq!(
        (fetch(world, "a"), fetch(world, "b")),
        (vec![thread], vec![thread])
    );
}

pub fn a_conversation_is_not_work(world: &World) {
    let request = Send {
        kind: Some(Kind::Question),
        ..task("backend", "a word")
    };
    let thread = world
        .call("lead", &request)
        .expect("a send succeeds")
        .thread
        .thread_id;
    assert!(fetch(world, "backend").is_empty());
    assert!(
        world
            .call("backend", &Claim::default())
            .expect("nothing is no error")
            .thread
            .is_none()
    );
    world.claim("backend", thread, 10);
    world.advance_ms(10_000);
    assert!(fetch(world, "backend").is_empty());
}

pub fn what_expired_before_a_claim_is_not_offered(world: &World) {
    let request = Send {
        ttl_hours: Some(1),
        ..task("backend", "soon")
    };
    let thread = world
        .call("lead", &request)
        .expect("a send succeeds")
        .thread
        .thread_id;
    assert_eq!(fetch(world, "backend"), vec![thread]);
    world.advance_ms(3_600_000);
    assert!(fetch(world, "backend").is_empty());
    assert!(
        world
            .call("backend", &Claim::default())
            .expect("nothing is no error")
            .thread
            .is_none()
    );
    world.claim("backend", thread, 10);
    world.advance_ms(10_000);
    assert_eq!(fetch(world, "backend"), vec![thread]);
}

pub fn fetch_and_list_change_nothing(world: &World) {
    world.send("lead", "backend", "work");
    let before = world
        .inbox()
        .store()
        .newest_event()
        .expect("it can be read");
    fetch(world, "somebody-new");
    world.call("x", &List::default()).expect("a list succeeds");
    assert_eq!(
        world
            .inbox()
            .store()
            .newest_event()
            .expect("it can be read"),
        before
    );
    let agents = world
        .inbox()
        .store()
        .read(|tx| Ok(tx.counts()?[3]))
        .expect("it can be read");
    assert_eq!(agents, 1);
}

pub fn fetch_by_status_shows_what_is_not_claimable(world: &World) {
    let held = world.send("lead", "backend", "held");
    let free = world.send("lead", "backend", "free");
    world.claim("backend", held, 600);
    let by_status = |status: Vec<Status>| {
        ids(&world
            .call(
                "backend",
                &Fetch {
                    status,
                    ..Fetch::default()
                },
            )
            .expect("a fetch succeeds"))
    };
    assert_eq!(by_status(vec![Status::Claimed]), vec![held]);
    assert_eq!(by_status(vec![Status::Pending]), vec![free]);
    assert_eq!(
        by_status(vec![Status::Pending, Status::Claimed]),
        vec![held, free]
    );
    assert_eq!(by_status(vec![Status::Done]), vec![]);
}

pub fn a_page_that_is_cut_short_says_so_and_can_go_on(world: &World) {
    let all: Vec<_> = (0..7)
        .map(|n| world.send("lead", "backend", &format!("work {n}")))
        .collect();
    let page = world
        .call(
            "backend",
            &Fetch {
                limit: Some(3),
                ..Fetch::default()
            },
        )
        .expect("a fetch succeeds");
    assert_eq!((ids(&page), page.truncated), (all[..3].to_vec(), true));
    let list = world
        .call(
            "x",
            &List {
                limit: Some(3),
                ..List::default()
            },
        )
        .expect("a list succeeds");
    assert_eq!(
        (ids(&list), list.truncated),
        (vec![all[6], all[5], all[4]], true)
    );
    // Following the changes page by page misses nothing and repeats nothing.
    let mut after = EventId(0);
    let mut seen = Vec::new();
    loop {
        let request = List {
            limit: Some(3),
            after_event: Some(after),
            ..List::default()
        };
        let page = world.call("x", &request).expect("a list succeeds");
        let mut threads = ids(&page);
        threads.reverse();
        seen.extend(threads);
        after = page.next_event_id;
        if !page.truncated {
            break;
        }
    }
    assert_eq!(seen, all);
}

pub fn list_filters_by_every_label(world: &World) {
    let request = Send {
        run: "r1".parse().ok(),
        task: "T4".parse().ok(),
        ..task("backend", "labelled")
    };
    let thread = world
        .call("lead", &request)
        .expect("a send succeeds")
        .thread
        .thread_id;
    let plain = world.send("boss", "frontend", "plain");
    let list = |request: List| ids(&world.call("x", &request).expect("a list succeeds"));
    assert_eq!(list(List::default()), vec![plain, thread]);
    assert_eq!(
        list(List {
            run: "r1".parse().ok(),
            ..List::default()
        }),
        vec![thread]
    );
    assert_eq!(
        list(List {
            task: "T4".parse().ok(),
            ..List::default()
        }),
        vec![thread]
    );
    assert_eq!(
        list(List {
            created_by: "boss".parse().ok(),
            ..List::default()
        }),
        vec![plain]
    );
    assert_eq!(
        list(List {
            assigned_to: "backend".parse().ok(),
            ..List::default()
        }),
        vec![thread]
    );
    assert_eq!(
        list(List {
            agent: "frontend".parse().ok(),
            ..List::default()
        }),
        vec![plain]
    );
    assert_eq!(
        list(List {
            agent: "lead".parse().ok(),
            ..List::default()
        }),
        vec![thread]
    );
    world.claim("other", thread, 600);
    assert_eq!(
        list(List {
            agent: "other".parse().ok(),
            ..List::default()
        }),
        vec![thread]
    );
    assert_eq!(
        list(List {
            assigned_to: "other".parse().ok(),
            ..List::default()
        }),
        vec![thread]
    );
    assert_eq!(
        list(List {
            status: vec![Status::Claimed],
            ..List::default()
        }),
        vec![thread]
    );
    let claim = Claim {
        run: "r2".parse().ok(),
        ..Claim::default()
    };
    assert!(
        world
            .call("frontend", &claim)
            .expect("nothing is no error")
            .thread
            .is_none()
    );
}

pub fn a_final_thread_leaves_the_queue(world: &World) {
    let thread = world.send("lead", "backend", "work");
    let caller = with_token(world.claim("backend", thread, 10));
    let done = Done {
        thread,
        summary: Some("done".into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    };
    world.call_as(&caller, &done).expect("the holder may");
    world.advance_ms(100_000);
    assert!(fetch(world, "backend").is_empty());
}

pub fn unread_keeps_threads_with_a_message_by_somebody_else(world: &World) {
    let mine = world.send("backend", "backend", "a note to myself");
    let theirs = world.send("lead", "backend", "work");
    let unread = Fetch {
        unread: true,
        ..Fetch::default()
    };
    assert_eq!(
        ids(&world.call("backend", &unread).expect("a fetch succeeds")),
        vec![theirs]
    );
    assert_eq!(fetch(world, "backend"), vec![mine, theirs]);
}

pub fn who_writes_must_say_who_it_is(world: &World) {
    if world.auth() == inbox_core::Auth::Token {
        // A server has no caller without a name: the token says it.
        return;
    }
    let nobody = Caller::local(None);
    assert_eq!(
        code(world.call_as(&nobody, &task("backend", "work"))),
        inbox_core::Code::InvalidInput
    );
    assert_eq!(
        code(world.call_as(&nobody, &Fetch::default())),
        inbox_core::Code::InvalidInput
    );
    assert!(world.call_as(&by("lead"), &task("backend", "work")).is_ok());
}
