//! A person's lock: what takes her passphrase once she has one.

use inbox_core::{AgentKind, AgentName, Auth, Code};
use inbox_ops::{AgentAdd, AgentRemove, AgentSet, Caller, List, Operation, TokenCreate};

use crate::world::{World, by, code, task};

const PASSPHRASE: &str = "nine brown bells";

fn name(name: &str) -> AgentName {
    name.parse().expect("a good name")
}

/// Ada, who has locked her name.
fn locked(world: &World) -> AgentName {
    let ada = name("ada");
    world.person("ada");
    // Once before, so that a server knows her.
    world.call("ada", &List::default()).expect("a list");
    let lock = |caller: &Caller| world.inbox().lock(caller, &ada, Some(PASSPHRASE));
    lock(&Caller::local(None)).expect("it is locked");
    ada
}

fn proven(world: &World, ada: &AgentName) -> Caller {
    world
        .inbox()
        .unlock(Caller::local(None), ada, PASSPHRASE)
        .expect("her passphrase")
}

pub fn a_locked_name_is_its_persons_alone(world: &World) {
    let ada = locked(world);
    let spoken = world.call("ada", &task("backend", "from ada"));
    if world.auth() == Auth::Token {
        assert!(spoken.expect("her token is proof").message.verified);
    } else {
        assert_eq!(code(spoken), Code::Locked);
        let threads = world.call("lead", &List::default()).expect("a list");
        assert!(threads.threads.is_empty(), "no trace of it");
    }
    // To look is not to speak.
    world.call("ada", &List::default()).expect("a list");
    let said = task("backend", "from ada").run(world.inbox(), &proven(world, &ada));
    let said = said.expect("her passphrase is proof").message;
    assert_eq!(said.from_agent, ada);
    assert!(said.verified);
    let unlock = |passphrase| {
        let caller = Caller::local(None);
        world.inbox().unlock(caller, &ada, passphrase).map(drop)
    };
    for wrong in ["", "nine brown bell", "nine brown bells "] {
        assert_eq!(code(unlock(wrong)), Code::Locked, "{wrong:?}");
    }
}

pub fn who_has_not_shown_to_be_a_person_makes_no_tokens_or_persons_once_one_is_locked(
    world: &World,
) {
    let ada = locked(world);
    let token = TokenCreate {
        agent: ada.clone(),
        scope: Vec::new(),
        label: None,
        ttl_hours: None,
    };
    let person = |slug: &str| AgentAdd {
        slug: Some(name(slug)),
        kind: Some(AgentKind::Human),
        ..AgentAdd::default()
    };
    let of_kind = |slug: &str, kind| AgentSet {
        slug: Some(name(slug)),
        kind: Some(kind),
        ..AgentSet::default()
    };
    let remove = AgentRemove { slug: ada.clone() };
    let lead = by("lead");
    world.send("lead", "backend", "work");
    assert_eq!(code(world.call_as(&lead, &token)), Code::Locked);
    assert_eq!(code(world.call_as(&lead, &person("bob"))), Code::Locked);
    let set = |slug, kind| code(world.call_as(&lead, &of_kind(slug, kind)));
    assert_eq!(set("ada", AgentKind::Agent), Code::Locked);
    assert_eq!(set("lead", AgentKind::Human), Code::Locked);
    assert_eq!(code(world.call_as(&lead, &remove)), Code::Locked);
    // Agents come and go as before.
    let agent = AgentAdd {
        slug: Some(name("carl")),
        ..AgentAdd::default()
    };
    world.call_as(&lead, &agent).expect("an agent is added");
    if world.auth() == Auth::Local {
        let ada = proven(world, &ada);
        world.call_as(&ada, &token).expect("a token of her own");
        world.call_as(&ada, &person("bob")).expect("a person");
    }
}

pub fn over_the_network_an_agent_makes_no_person_and_no_token_of_one(world: &World) {
    let person = |slug: &str| AgentAdd {
        slug: Some(name(slug)),
        kind: Some(AgentKind::Human),
        ..AgentAdd::default()
    };
    world.person("ada");
    world.send("lead", "backend", "work");
    let token = |agent: &str| TokenCreate {
        agent: name(agent),
        scope: Vec::new(),
        label: None,
        ttl_hours: None,
    };
    let set = AgentSet {
        slug: Some(name("lead")),
        kind: Some(AgentKind::Human),
        ..AgentSet::default()
    };
    let lead = by("lead");
    let made = [
        world.call_as(&lead, &person("bob")).map(drop),
        world.call_as(&lead, &set).map(drop),
        world.call_as(&lead, &token("ada")).map(drop),
    ];
    if world.auth() == Auth::Local {
        // On one machine everybody is who they say.
        assert!(made.iter().all(Result::is_ok), "{made:?}");
        return;
    }
    assert_eq!(made.map(code), [Code::NotAllowed; 3]);
    let agents = world.call_as(&lead, &token("backend"));
    agents.expect("that of an agent");
    let more = world.call("ada", &person("bob"));
    more.expect("a person may say who is one");
}

pub fn a_lock_is_changed_and_taken_away_by_whom_it_is_of(world: &World) {
    let ada = locked(world);
    let set = |caller: &Caller, passphrase| world.inbox().lock(caller, &ada, passphrase);
    for passphrase in [None, Some("another passphrase")] {
        assert_eq!(code(set(&Caller::local(None), passphrase)), Code::Locked);
        assert_eq!(code(set(&by("ada"), passphrase)), Code::Locked);
    }
    let caller = proven(world, &ada);
    assert_eq!(code(set(&caller, Some("short"))), Code::InvalidInput);
    set(&caller, Some("another passphrase")).expect("it is changed");
    let old = world.inbox().unlock(Caller::local(None), &ada, PASSPHRASE);
    assert_eq!(code(old), Code::Locked);
    set(&caller, None).expect("it is taken away");
    world
        .call("ada", &task("backend", "from ada"))
        .expect("a name without a lock is what it says");
    let nobody = name("backend");
    let locked = world.inbox().lock(&caller, &nobody, Some(PASSPHRASE));
    assert_eq!(code(locked), Code::AgentNotFound, "a program has no lock");
}
