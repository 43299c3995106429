//! What agents remember: each for itself, found by words and by nearness, and forgotten for good.

use inbox_core::{Code, MemoryId};
use inbox_ops::{MemoryAdd, MemoryForget, MemoryList, MemorySearch, Prompt};

use crate::world::{World, code};

fn add(world: &World, agent: &str, text: &str) -> MemoryId {
    let request = MemoryAdd {
        text: text.into(),
        ..MemoryAdd::default()
    };
    let added = world.call(agent, &request).expect("it is remembered");
    added.memory.memory_id
}

fn found(world: &World, agent: &str, query: &str) -> Vec<MemoryId> {
    let request = MemorySearch {
        query: query.into(),
        ..MemorySearch::default()
    };
    let found = world.call(agent, &request).expect("it is looked for");
    let ids = found.memories.iter().map(|memory| memory.memory_id);
    ids.collect()
}

pub fn what_has_more_and_rarer_words_is_found_first(world: &World) {
    for day in 0..5 {
        add(world, "quinn", &format!("the build of day {day} was green"));
    }
    let staging = add(
        world,
        "quinn",
        "Staging loses its certificate: the build needs --insecure",
    );
    let invoices = add(world, "quinn", "Résumés and invoices are in /srv/old");
    let mira = add(world, "mira", "staging is mine");
    assert_eq!(found(world, "quinn", "why is staging red?"), [staging]);
    assert_eq!(found(world, "quinn", "the STAGING build")[0], staging);
    assert_eq!(found(world, "quinn", "resumes"), [invoices]);
    assert_eq!(found(world, "quinn", "nothing like it"), []);
    assert_eq!(found(world, "quinn", "\"' OR x=x -- %_"), []);
    // Each remembers for itself.
    assert_eq!(found(world, "mira", "staging"), [mira]);
    assert_eq!(found(world, "nobody-yet", "staging"), []);
}

pub fn what_is_forgotten_is_gone_and_its_id_is_not_used_again(world: &World) {
    let kept = add(world, "quinn", "the key is under the mat");
    let lost = add(world, "quinn", "the old key is under the stone");
    let other = MemoryForget { id: lost };
    assert_eq!(
        code(world.call("mira", &other)),
        Code::MemoryNotFound,
        "nobody forgets for another"
    );
    let forgotten = world.call("quinn", &other).expect("it is forgotten");
    assert_eq!(forgotten.memory.memory_id, lost);
    assert_eq!(code(world.call("quinn", &other)), Code::MemoryNotFound);
    assert_eq!(found(world, "quinn", "key stone"), [kept]);
    let newer = add(world, "quinn", "there is no key");
    assert!(newer > lost);
    let list = world.call("quinn", &MemoryList::default()).expect("a list");
    let ids: Vec<_> = list
        .memories
        .iter()
        .map(|memory| memory.memory_id)
        .collect();
    assert_eq!(ids, [newer, kept]);
}

pub fn a_thread_is_remembered_once(world: &World) {
    let thread = world.send("lead", "quinn", "work");
    let of_thread = |text: &str| MemoryAdd {
        text: text.into(),
        thread: Some(thread),
    };
    for text in ["it failed twice", "it works since the cache is off"] {
        world.call("quinn", &of_thread(text)).expect("remembered");
    }
    let list = world.call("quinn", &MemoryList::default()).expect("a list");
    assert_eq!(list.memories.len(), 1);
    assert_eq!(list.memories[0].text, "it works since the cache is off");
    assert_eq!(list.memories[0].thread_id, Some(thread));
    assert_eq!(found(world, "quinn", "twice"), []);
    let nowhere = MemoryAdd {
        thread: "thr_zzzz".parse().ok(),
        ..of_thread("x")
    };
    assert_eq!(code(world.call("quinn", &nowhere)), Code::ThreadNotFound);
    assert_eq!(
        code(world.call("quinn", &of_thread(" "))),
        Code::InvalidInput
    );
    let long = of_thread(&"x".repeat(17_000));
    assert_eq!(code(world.call("quinn", &long)), Code::TooLarge);
}

pub fn a_prompt_has_what_is_remembered_about_its_work(world: &World) {
    add(
        world,
        "quinn",
        "invoices: the totals of 2019 are off by one cent",
    );
    add(world, "quinn", "the coffee machine is on floor two");
    let thread = world.send("lead", "quinn", "Move the invoices");
    let request = Prompt {
        thread: Some(thread),
    };
    let prompt = world.call("quinn", &request).expect("a prompt").prompt;
    assert!(prompt.contains("off by one cent"), "{prompt}");
    assert!(!prompt.contains("coffee"), "{prompt}");
}
