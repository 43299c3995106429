//! The loop guard: agents that only answer each other are stopped, and the person is told once.

use inbox_core::{Code, Refusal, ThreadId};
use inbox_ops::{Config, Done, Inbox, Operation, Posted, Read, Reply, Send, UpdateStatus};

use crate::desk::letter;
use crate::world::{World, by, code, task, update, with_token};

fn strict(world: &World, set: impl Fn(&mut inbox_ops::config::Guard)) -> Inbox {
    world.person("operator");
    let mut config = Config::default();
    set(&mut config.guard);
    world.another().with_config(config)
}

fn say(inbox: &Inbox, agent: &str, thread: ThreadId, text: &str) -> Result<Posted, Refusal> {
    let reply = Reply {
        thread,
        to: Vec::new(),
        kind: None,
        summary: Some(text.into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    };
    reply.run(inbox, &by(agent))
}

fn notices(world: &World) -> Vec<String> {
    let mut found = world.unread(&by("operator"));
    found.retain(|summary| summary.contains("circles"));
    found
}

pub fn agents_that_take_turns_without_a_person_are_stopped(world: &World) {
    let inbox = strict(world, |guard| guard.max_turns = 4);
    let thread = world.send("lead", "backend", "talk");
    for turn in 0..4 {
        let agent = if turn % 2 == 0 { "backend" } else { "lead" };
        say(&inbox, agent, thread, &format!("turn {turn}")).expect("it is allowed");
        // Going on talking oneself is no turn.
        say(&inbox, agent, thread, &format!("turn {turn} and")).expect("it is allowed");
    }
    let refusal = say(&inbox, "backend", thread, "one more").expect_err("a circle");
    assert_eq!(refusal.code, Code::LoopGuard);
    assert!(refusal.message.contains(&thread.to_string()));
    assert_eq!(
        world.shown(thread).len(),
        9,
        "what was refused left no trace"
    );
    // A word of the person lets it go on.
    say(&inbox, "operator", thread, "go on").expect("a person may always");
    say(&inbox, "backend", thread, "thanks").expect("it goes on");
}

pub fn a_chain_of_messages_without_a_person_is_stopped(world: &World) {
    let inbox = strict(world, |guard| guard.max_hops = 3);
    let names = ["lead", "backend", "reviewer", "writer", "tester", "builder"];
    let mut outcome = None;
    for pair in names.windows(2) {
        let sent = letter(&[pair[1]], &format!("from {}", pair[0])).run(&inbox, &by(pair[0]));
        let Ok(sent) = sent else {
            outcome = Some((pair[0], code(sent)));
            break;
        };
        Read::default().run(&inbox, &by(pair[1])).expect("a read");
        assert!(sent.message.hops <= 3);
    }
    assert_eq!(outcome, Some(("tester", Code::LoopGuard)));
    // What was read long ago is not the cause of what is said now.
    world.advance_ms(61 * 60_000);
    let sent = letter(&["builder"], "later")
        .run(&inbox, &by("tester"))
        .expect("it is allowed");
    assert_eq!(sent.message.hops, 0);
    // What a person says begins anew.
    let said = letter(&["tester"], "do it")
        .run(&inbox, &by("operator"))
        .expect("a person");
    Read::default().run(&inbox, &by("tester")).expect("a read");
    let sent = letter(&["builder"], "done")
        .run(&inbox, &by("tester"))
        .expect("it is allowed");
    assert_eq!((said.message.hops, sent.message.hops), (0, 1));
}

pub fn a_ring_of_fifty_who_pass_mail_on_is_stopped(world: &World) {
    const RING: i64 = 50;
    let inbox = strict(world, |_| {});
    let most = Config::default().guard.max_hops;
    let name = |at: i64| format!("relay-{}", at % RING);
    let mut passed = 0;
    let refusal = loop {
        let words = format!("lap {}", passed / RING);
        let sent = letter(&[&name(passed + 1)], &words).run(&inbox, &by(&name(passed)));
        match sent {
            Err(refusal) => break refusal,
            Ok(sent) => assert_eq!(sent.message.hops, passed),
        }
        passed += 1;
        assert!(passed <= most + 1, "nobody stops them");
        let read = Read::default().run(&inbox, &by(&name(passed)));
        read.expect("a read");
    };
    assert_eq!(refusal.code, Code::LoopGuard);
    assert_eq!(passed, most + 1, "some laps, and no more");
    assert!(!world.unread(&by("operator")).is_empty(), "she is told");
}

pub fn saying_the_same_again_and_again_is_stopped(world: &World) {
    let inbox = strict(world, |guard| guard.max_repeats = 3);
    let same = letter(&["backend"], "are you there");
    for _ in 0..3 {
        same.run(&inbox, &by("lead")).expect("it is allowed");
    }
    assert_eq!(code(same.run(&inbox, &by("lead"))), Code::LoopGuard);
    same.run(&inbox, &by("reviewer"))
        .expect("another may say it");
    letter(&["reviewer"], "are you there")
        .run(&inbox, &by("lead"))
        .expect("to another");
    let other = Send {
        body: Some("with more".into()),
        ..same.clone()
    };
    other.run(&inbox, &by("lead")).expect("it is not the same");
    same.run(&inbox, &by("operator")).expect("a person may");
    world.advance_ms(61 * 60_000);
    same.run(&inbox, &by("lead")).expect("it was long ago");
}

pub fn the_person_hears_of_a_circle_once_in_a_window(world: &World) {
    let inbox = strict(world, |guard| guard.max_turns = 2);
    let threads = [
        world.send("lead", "backend", "one"),
        world.send("lead", "backend", "two"),
    ];
    for thread in threads {
        say(&inbox, "backend", thread, "a").expect("it is allowed");
        say(&inbox, "lead", thread, "b").expect("it is allowed");
        for try_ in 0..5 {
            let refusal = say(&inbox, "backend", thread, &format!("again {try_}"));
            let refusal = refusal.expect_err("a circle");
            assert_eq!(refusal.code, Code::LoopGuard);
            assert!(!refusal.details.contains_key("person_not_told"));
        }
    }
    let expected: Vec<_> = threads
        .iter()
        .map(|id| format!("agents go in circles in {id}"))
        .collect();
    assert_eq!(notices(world), expected, "one for each thread");
    world.advance_ms(60 * 60_000);
    for _ in 0..2 {
        assert_eq!(
            code(say(&inbox, "backend", threads[0], "still")),
            Code::LoopGuard
        );
    }
    assert_eq!(notices(world).len(), 3, "and one for each window");
}

pub fn work_may_end_and_ask_although_agents_go_in_circles(world: &World) {
    let inbox = strict(world, |guard| guard.max_turns = 1);
    let thread = task("backend", "work")
        .run(&inbox, &by("lead"))
        .expect("sent")
        .thread
        .thread_id;
    let holder = with_token(world.claim("backend", thread, 6_000));
    say(&inbox, "backend", thread, "a").expect("one turn");
    assert_eq!(code(say(&inbox, "lead", thread, "b")), Code::LoopGuard);
    let ask = inbox_ops::Update {
        status: Some(UpdateStatus::Blocked),
        ..update(thread)
    };
    ask.run(&inbox, &holder).expect("a worker may always ask");
    update(thread).run(&inbox, &holder).expect("and report");
    let done = Done {
        thread,
        summary: Some("over".into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    };
    done.run(&inbox, &holder).expect("and finish");
}

pub fn what_is_reported_follows_from_the_last_word(world: &World) {
    let thread = world.send("lead", "backend", "talk");
    let caller = with_token(world.claim("backend", thread, 600));
    for (agent, hops) in [("backend", 1), ("lead", 2)] {
        let said = say(world.inbox(), agent, thread, agent).expect("it is allowed");
        assert_eq!(said.message.hops, hops);
    }
    for _ in 0..2 {
        let reported = world.update(&caller, thread).expect("the holder may");
        assert_eq!(reported.message.hops, 3);
    }
}
