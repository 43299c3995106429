//! What a person sees who steers, and how it steps in.

use inbox_core::{Code, EventType, Kind, Status, ThreadId};
use inbox_ops::{
    AgentList, AskSort, Assign, Caller, ChannelList, ChannelShow, Claim, Desk, Done, Flow, Read,
    Reply, Send, SessionStart, UpdateStatus, Watch,
};

use crate::world::{World, by, code, task, update, with_token};

fn finished(thread: ThreadId) -> Done {
    Done {
        thread,
        summary: Some("ok".into()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    }
}

fn steers() -> Caller {
    Caller {
        may_override: true,
        ..by("ada")
    }
}

pub fn a_question_stands_on_the_desk_until_it_is_answered(world: &World) {
    world.person("ada");
    let asked = world.send("ada", "worker", "mine");
    let elsewhere = world.send("lead", "worker", "another's");
    for thread in [asked, elsewhere] {
        let lease = world.claim("worker", thread, 900);
        let request = inbox_ops::Update {
            status: Some(UpdateStatus::Blocked),
            summary: Some("which one?".into()),
            ..update(thread)
        };
        world
            .call_as(&with_token(lease), &request)
            .expect("the holder may ask");
    }
    let gate = Send {
        kind: Some(Kind::Question),
        message_type: "exec.gate".parse().ok(),
        ..task("human", "deploy?")
    };
    let gate = world
        .call("worker", &gate)
        .expect("anybody may ask")
        .thread
        .thread_id;
    let news = Send {
        kind: Some(Kind::Event),
        ..task("ada", "news")
    };
    world.call("lead", &news).expect("a send succeeds");
    let desk = world
        .call("ada", &Desk::default())
        .expect("a desk is shown");
    let asks: Vec<_> = desk
        .asks
        .iter()
        .map(|ask| (ask.sort, ask.thread.thread_id))
        .collect();
    assert_eq!(asks, [(AskSort::Blocked, asked), (AskSort::Approval, gate)]);
    assert_eq!(desk.elsewhere.len(), 1);
    assert_eq!(desk.elsewhere[0].thread.thread_id, elsewhere);
    let mail: Vec<&str> = desk.mail.iter().map(|it| it.summary.as_str()).collect();
    assert_eq!(mail, ["news"]);
    // Reading it is no answer.
    world
        .call("ada", &Read::default())
        .expect("a read succeeds");
    let desk = world
        .call("ada", &Desk::default())
        .expect("a desk is shown");
    assert_eq!((desk.asks.len(), desk.mail.len()), (2, 0));
    for thread in [asked, gate] {
        let answer = Reply {
            summary: Some("the first".into()),
            ..Reply::to(thread)
        };
        world.call("ada", &answer).expect("a person may answer");
    }
    let desk = world
        .call("ada", &Desk::default())
        .expect("a desk is shown");
    assert!(desk.asks.is_empty(), "{:?}", desk.asks);
}

pub fn work_that_is_given_away_is_lost_to_its_holder_and_claimable_there(world: &World) {
    world.person("ada");
    let thread = world.send("lead", "worker", "move it");
    let lease = world.claim("worker", thread, 900);
    let give = |to: &str| Assign {
        thread,
        to: vec![to.parse().expect("an address")],
        reason: None,
    };
    for agent in ["other", "worker"] {
        let plain = Caller {
            may_override: false,
            ..by(agent)
        };
        let outcome = world.call_as(&plain, &give("other"));
        assert_eq!(code(outcome), Code::NotAllowed, "{agent}");
    }
    let given = world
        .call_as(&steers(), &give("other"))
        .expect("a person may");
    assert_eq!(
        (given.thread.status, given.thread.assigned_to.as_str()),
        (Status::Pending, "other")
    );
    let done = finished(thread);
    assert_eq!(
        code(world.call_as(&with_token(lease), &done)),
        Code::LeaseLost
    );
    let told = world.call("worker", &Read::default()).expect("it is told");
    assert_eq!(told.messages.last().map(|it| it.kind), Some(Kind::Control));
    let none = world.call("worker", &Claim::default()).expect("no error");
    assert!(none.thread.is_none());
    let taken = world.call("other", &Claim::default()).expect("it is there");
    assert_eq!(taken.thread.map(|it| it.thread_id), Some(thread));
    // Back to where it was, by its creator.
    let back = Assign {
        thread,
        to: Vec::new(),
        reason: Some("changed my mind".into()),
    };
    let back = world.call("lead", &back).expect("its creator may");
    assert_eq!(back.thread.assigned_to, "other");
    // What nobody holds cannot be taken back, and nobody is told that it was.
    let again = Assign {
        thread,
        to: Vec::new(),
        reason: None,
    };
    let refused = world.call("lead", &again);
    assert_eq!(code(refused), Code::InvalidTransition);
    let taken = world.call("other", &Claim::default()).expect("it is there");
    assert_eq!(taken.thread.map(|it| it.attempts), Some(3));
    let talk = Send {
        kind: Some(Kind::Event),
        ..task("worker", "no work")
    };
    let talk = world.call("lead", &talk).expect("a send succeeds").thread;
    let give = Assign {
        thread: talk.thread_id,
        to: Vec::new(),
        reason: None,
    };
    assert_eq!(code(world.call("lead", &give)), Code::InvalidTransition);
    let seen = Watch {
        thread: Some(thread),
        after_event: Some(inbox_core::EventId(0)),
        timeout_seconds: Some(0),
        ..Watch::default()
    };
    let seen = world
        .call_as(
            &Caller {
                agent: None,
                ..by("lead")
            },
            &seen,
        )
        .expect("events are shown");
    let moved = seen
        .events
        .iter()
        .filter(|event| event.event_type == EventType::Readdressed);
    assert_eq!(moved.count(), 2);
}

pub fn a_channel_shows_what_was_said_to_it_whoever_read_it(world: &World) {
    let start = SessionStart {
        tag: vec!["project:x".into()],
        ..SessionStart::default()
    };
    let caller = Caller {
        session: "s1".parse().ok(),
        ..by("quinn")
    };
    world.call_as(&caller, &start).expect("a session begins");
    for subject in ["one", "two", "three"] {
        let post = Send {
            kind: Some(Kind::Event),
            ..task("project:x", subject)
        };
        world.call("lead", &post).expect("a send succeeds");
    }
    world
        .call_as(&caller, &Read::default())
        .expect("a read succeeds");
    let channels = world
        .call("lead", &ChannelList {})
        .expect("channels are shown")
        .channels;
    assert_eq!(channels[0].address.as_str(), "project:x");
    assert_eq!(channels[0].members.len(), 1);
    let show = |before_event| {
        let request = ChannelShow {
            id: "project:x".parse().expect("an address"),
            limit: Some(2),
            before_event,
        };
        world.call("lead", &request).expect("a channel is shown")
    };
    let newest = show(None);
    let said = |posts: &inbox_ops::Posts| -> Vec<String> {
        posts.messages.iter().map(|it| it.summary.clone()).collect()
    };
    assert_eq!(said(&newest), ["two", "three"]);
    let older = show(newest.before_event);
    assert_eq!(
        (said(&older), older.before_event),
        (vec!["one".into()], None)
    );
}

pub fn the_flow_of_work_is_counted(world: &World) {
    let thread = world.send("lead", "worker", "counted");
    world.send("lead", "worker", "waits");
    world.advance_ms(5_000);
    let lease = world.claim("worker", thread, 900);
    world.advance_ms(2_000);
    world
        .call_as(&with_token(lease), &finished(thread))
        .expect("the holder may");
    let flow = world.call("lead", &Flow::default()).expect("it is counted");
    let totals = flow.totals;
    assert_eq!(
        (totals.opened, totals.claimed, totals.done, totals.failed),
        (2, 1, 1, 0)
    );
    assert_eq!(flow.parts.last().map(|part| part.queued), Some(1));
    let group = flow.groups.first().expect("there is work");
    assert_eq!((group.name.as_str(), group.threads), ("worker", 2));
    let took = |spread: Option<inbox_ops::Spread>| spread.map(|it| it.p50 / 1000);
    assert_eq!(
        (took(group.to_claim), took(group.to_done)),
        (Some(5), Some(7))
    );
    assert!(
        flow.talk
            .iter()
            .any(|it| it.from == "lead" && it.messages == 2)
    );
    let list = AgentList {
        work: true,
        ..AgentList::default()
    };
    let agents = world.call("lead", &list).expect("the roster is shown");
    let worker = agents
        .work
        .iter()
        .find(|work| work.agent_id.as_str() == "worker")
        .expect("it has written");
    assert_eq!((worker.holds.len(), worker.unread), (0, 2));
}
