//! Who there is: names that nobody may take, sessions that live, sleep and die, roles and tags.

use inbox_core::{AgentKind, AgentName, Code, SessionState};
use inbox_ops::{
    AgentAdd, AgentList, AgentRemove, AgentSet, AgentShow, Caller, Claim, Config, Operation, Read,
    SessionBeat, SessionEnd, SessionList, SessionResume, SessionSet, SessionStart,
};

use crate::desk::{at, letter, only, texts, work};
use crate::world::{World, by, code, task, with_token};

fn add(slug: &str) -> AgentAdd {
    AgentAdd {
        slug: slug.parse().ok(),
        ..AgentAdd::default()
    }
}

fn named(slug: &str, title: &str) -> AgentAdd {
    AgentAdd {
        name: Some(title.into()),
        ..add(slug)
    }
}

pub fn reserved_names_and_what_looks_like_them_cannot_write(world: &World) {
    for name in [
        "human", "HUMAN", "hurnan", "hu-man", "hu.man", "human_", "system", "sys-tem", "5ystem",
        "runner", "run-ner", "all", "ALL", "a11", "al1", "a-l-l",
    ] {
        let outcome = world.call(name, &task("backend", "hello"));
        assert_eq!(code(outcome), Code::NotAllowed, "{name}");
        let outcome = world.call(name, &SessionStart::default());
        assert_eq!(code(outcome), Code::NotAllowed, "{name}");
        let outcome = world.call(name, &Claim::default());
        assert_eq!(code(outcome), Code::NotAllowed, "{name}");
    }
    assert!(world.unread(&by("backend")).is_empty());
}

pub fn reserved_names_and_what_looks_like_them_cannot_be_added(world: &World) {
    for name in [
        "human", "HUMAN", "hurnan", "hu-man", "system", "syst3m-", "runner", "all", "a11", "AL1",
    ] {
        let outcome = world.call("lead", &add(name));
        if name == "syst3m-" {
            outcome.expect("another letter is another name");
            continue;
        }
        assert_eq!(code(outcome), Code::NotAllowed, "{name}");
    }
    for title in [
        "Human",
        "ｈｕｍａｎ",
        "hum\u{430}n",
        "A L L",
        "sys\u{200b}tem",
        "hu\u{301}man",
    ] {
        let outcome = world.call("lead", &named("helper", title));
        assert_eq!(code(outcome), Code::NotAllowed, "{title:?}");
    }
    let outcome = world.call(
        "lead",
        &AgentShow {
            slug: "helper".parse().expect("a name"),
        },
    );
    assert_eq!(
        code(outcome),
        Code::AgentNotFound,
        "a refusal leaves no trace"
    );
}

pub fn a_reserved_name_keeps_its_kind(world: &World) {
    world.person("operator");
    let system: AgentName = "system".parse().expect("a name");
    let request = AgentSet {
        slug: Some(system.clone()),
        kind: Some(AgentKind::Human),
        ..AgentSet::default()
    };
    assert_ne!(code(world.call("lead", &request)), Code::Internal);
    let shown = world.call("lead", &AgentShow { slug: system });
    if let Ok(shown) = shown {
        assert_eq!(shown.agent.kind, AgentKind::System);
    }
    world.mail("lead", &["human"], "to the person");
    if world.auth() == inbox_core::Auth::Token {
        // Nobody has a token of the person's.
        return;
    }
    world.call("human", &Read::default()).expect("it may look");
    let request = AgentSet {
        slug: "human".parse().ok(),
        kind: Some(AgentKind::Agent),
        ..AgentSet::default()
    };
    assert_eq!(code(world.call("lead", &request)), Code::NotAllowed);
}

pub fn a_display_name_that_looks_like_another_agent_is_refused(world: &World) {
    world
        .call("lead", &named("reviewer", "Critic"))
        .expect("it is added");
    world.send("backend", "lead", "hello");
    for title in [
        "backend",
        "Back End",
        "b\u{430}ckend",
        "BACKEND",
        "critic",
        "Сritic",
        "cr1tic",
    ] {
        let outcome = world.call("lead", &named("helper", title));
        assert_eq!(code(outcome), Code::AlreadyExists, "{title:?}");
    }
    let own = AgentSet {
        slug: "reviewer".parse().ok(),
        name: Some("CRITIC".into()),
        ..AgentSet::default()
    };
    let set = world.call("lead", &own).expect("one may look like oneself");
    assert_eq!(set.agent.name, "CRITIC");
    assert_eq!(
        code(world.call("lead", &add("reviewer"))),
        Code::AlreadyExists
    );
    let blank = world.call("lead", &named("helper", "  "));
    assert_eq!(code(blank), Code::InvalidInput);
}

pub fn a_removed_agent_keeps_its_mail_and_is_back_with_its_next_write(world: &World) {
    let backend = world.start("backend", "b-1", &["builder"], &[]);
    world.mail("lead", &["backend"], "before");
    let remove = AgentRemove {
        slug: "backend".parse().expect("a name"),
    };
    let removed = world.call("lead", &remove).expect("it is removed");
    assert!(removed.agent.removed_at.is_some());
    let listed = world.call("lead", &AgentList::default()).expect("a list");
    assert!(
        listed
            .agents
            .iter()
            .all(|agent| agent.agent_id.as_str() != "backend")
    );
    let sessions = world.call("lead", &SessionList::default()).expect("a list");
    assert!(sessions.sessions.is_empty(), "its sessions ended with it");
    assert_eq!(
        code(world.call("lead", &letter(&["b-1"], "gone"))),
        Code::RecipientDead
    );
    let sent = world.mail("lead", &["backend"], "meanwhile");
    assert_eq!(sent.delivery[0].reaches, 0);
    assert_eq!(world.read(&by("backend")), ["before", "meanwhile"]);
    let shown = world.call(
        "lead",
        &AgentShow {
            slug: "backend".parse().expect("a name"),
        },
    );
    assert_eq!(shown.expect("it is there").agent.removed_at, None);
    let sent = world.mail("lead", &["backend"], "after");
    assert_eq!(sent.delivery[0].reaches, 1);
    let again = world
        .call_as(&backend, &SessionStart::default())
        .expect("it begins again");
    assert_eq!(again.session.roles, ["builder"], "and is what it was");
    let gone = AgentRemove {
        slug: "nobody-known".parse().expect("a name"),
    };
    assert_eq!(code(world.call("lead", &gone)), Code::AgentNotFound);
}

pub fn a_session_alone_says_who_calls(world: &World) {
    if world.auth() == inbox_core::Auth::Token {
        // A server has no caller without a name: the token says it.
        return;
    }
    world.start("backend", "b-1", &[], &[]);
    world.mail("lead", &["backend", "b-1"], "hello");
    let caller = only(world, "b-1");
    assert_eq!(caller.agent, "backend".parse().ok());
    assert_eq!(world.unread(&caller), ["hello"]);
    let bare = Caller {
        agent: None,
        ..caller.clone()
    };
    let sent = world.post(&bare, &letter(&["lead"], "from a session"));
    assert_eq!(sent.message.from_agent.as_str(), "backend");
    assert_eq!(sent.message.from_session, "b-1".parse().ok());
    let stranger = only(world, "never-begun");
    assert_eq!(stranger.agent, None);
    let outcome = world.call_as(&stranger, &task("lead", "who?"));
    assert_eq!(code(outcome), Code::InvalidInput);
    let silent = world.call_as(
        &stranger,
        &Read {
            peek: true,
            ..Read::default()
        },
    );
    assert_eq!(code(silent), Code::InvalidInput);
}

pub fn a_session_of_another_agent_is_refused(world: &World) {
    world.start("backend", "b-1", &[], &[]);
    let thread = world.send("lead", "backend", "work");
    for outcome in [
        world
            .call_as(&at("lead", "b-1"), &task("backend", "as if"))
            .map(drop),
        world
            .call_as(&at("lead", "b-1"), &Read::default())
            .map(drop),
        world
            .call_as(&at("lead", "b-1"), &SessionStart::default())
            .map(drop),
        world
            .call_as(&at("lead", "B-1"), &SessionEnd::default())
            .map(drop),
        world
            .ack(&at("lead", "b-1"), world.shown(thread)[0].message_id)
            .map(drop),
    ] {
        assert_eq!(code(outcome), Code::InvalidInput);
    }
    // A token proves its holder, whatever session the shell has.
    let lease = world.claim("backend", thread, 600);
    world
        .update(&with_token(lease), thread)
        .expect("the holder may");
}

pub fn roles_and_tags_are_set_added_and_dropped(world: &World) {
    let caller = world.start(
        "backend",
        "b-1",
        &["builder, Tester", "role:builder"],
        &["project:x"],
    );
    let shown = |world: &World| {
        let list = world.call("lead", &SessionList::default()).expect("a list");
        let session = list.sessions.into_iter().next().expect("one session");
        (session.roles, session.tags)
    };
    assert_eq!(
        shown(world),
        (texts(&["builder", "tester"]), texts(&["project:x"]))
    );
    world.set(
        &caller,
        &["role:critic", "concern:speed", "writer"],
        &["tester", "project:none"],
    );
    assert_eq!(
        shown(world),
        (
            texts(&["builder", "critic", "writer"]),
            texts(&["concern:speed", "project:x"])
        )
    );
    let replace = SessionSet {
        role: texts(&["builder"]),
        ..SessionSet::default()
    };
    world.call_as(&caller, &replace).expect("it is set");
    assert_eq!(
        shown(world),
        (texts(&["builder"]), texts(&["concern:speed", "project:x"]))
    );
    let nothing = world.set(&caller, &[], &["builder", "concern:speed", "PROJECT:X"]);
    assert!(nothing.session.roles.is_empty() && nothing.session.tags.is_empty());
    for bad in [
        "",
        "no colon here",
        "a:b:c",
        "project:",
        ":x",
        "project:a b",
    ] {
        let request = SessionSet {
            tag: texts(&[bad]),
            ..SessionSet::default()
        };
        assert_eq!(
            code(world.call_as(&caller, &request)),
            Code::InvalidInput,
            "{bad:?}"
        );
    }
    let nobody = SessionSet {
        id: "unknown".parse().ok(),
        ..SessionSet::default()
    };
    assert_eq!(code(world.call("lead", &nobody)), Code::SessionNotFound);
}

pub fn a_silent_session_counts_as_dead_and_is_alive_again_when_seen(world: &World) {
    let caller = world.start("backend", "b-1", &["builder"], &["project:x"]);
    let mut config = Config::default();
    config.presence.dead_after_minutes = 90;
    let inbox = world.another().with_config(config);
    let state = || {
        let every = SessionList {
            state: SessionState::ALL.to_vec(),
            ..SessionList::default()
        };
        every.run(&inbox, &by("lead")).expect("a list").sessions[0].state
    };
    let reaches = |to: &str, subject: &str| {
        let sent = letter(&[to], subject).run(&inbox, &by("lead"));
        sent.map(|posted| posted.delivery[0].reaches)
    };
    world.advance_ms(90 * 60_000 - 1);
    assert_eq!(state(), SessionState::Alive);
    assert_eq!(reaches("role:builder", "one").expect("sent"), 1);
    world.advance_ms(1);
    assert_eq!(state(), SessionState::Dead);
    assert_eq!(reaches("role:builder", "two").expect("sent"), 0);
    assert_eq!(reaches("project:x", "three").expect("sent"), 0);
    assert_eq!(reaches("all", "four").expect("sent"), 0);
    assert_eq!(code(reaches("b-1", "five")), Code::RecipientDead);
    let mail = Read::default().run(&inbox, &caller).expect("it reads");
    assert_eq!(mail.messages.len(), 4);
    assert_eq!(state(), SessionState::Alive, "who reads is there");
    world.advance_ms(91 * 60_000);
    assert_eq!(state(), SessionState::Dead);
    SessionBeat::default()
        .run(&inbox, &caller)
        .expect("it beats");
    assert_eq!(state(), SessionState::Alive);
    assert_eq!(reaches("b-1", "six").expect("sent"), 1);
}

pub fn an_ended_session_goes_on_only_by_beginning_again(world: &World) {
    let caller = world.start("backend", "b-1", &["builder"], &[]);
    world.mail("lead", &["b-1"], "last word");
    let ended = world.end(&caller);
    assert_eq!((ended.session.state, ended.unread), (SessionState::Dead, 1));
    assert_eq!(ended.messages[0].summary, "last word");
    assert_eq!(
        code(world.call_as(&caller, &SessionResume::default())),
        Code::InvalidTransition
    );
    assert_eq!(
        code(world.call_as(&caller, &SessionBeat::default())),
        Code::InvalidTransition
    );
    let again = world
        .call_as(&caller, &SessionStart::default())
        .expect("it begins again");
    assert_eq!(again.session.state, SessionState::Alive);
    assert_eq!(world.unread(&caller), ["last word"]);
}

pub fn a_person_is_reached_as_human(world: &World) {
    let early = world.mail("lead", &["human"], "early");
    assert_eq!(early.delivery[0].reaches, 0);
    assert!(early.delivery[0].note.is_some());
    world.person("operator");
    world.person("owner");
    world.send("helper", "lead", "an agent");
    let sent = world.mail("lead", &["human"], "late");
    assert_eq!(
        (sent.delivery[0].reaches, sent.delivery[0].mode.name()),
        (2, "agent")
    );
    assert_eq!(world.read(&by("operator")), ["early", "late"]);
    assert_eq!(world.unread(&by("owner")), ["early", "late"]);
    assert!(world.unread(&by("helper")).is_empty());
    world
        .ack(&by("owner"), early.message.message_id)
        .expect("it is theirs");
    let other = world.ack(&by("operator"), early.message.message_id);
    assert_eq!(code(other), Code::AlreadyExists);
    assert_eq!(world.unread(&by("owner")), ["late"]);
    let job = world
        .post(&by("lead"), &work(&["human"], "a decision"))
        .thread
        .thread_id;
    let claimed = world.try_claim("owner", job, 600).expect("a person may");
    assert_eq!(claimed.thread.expect("a thread").assigned_to, "owner");
}
