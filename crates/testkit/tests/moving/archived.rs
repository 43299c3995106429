//! Keys whose threads were archived, in a store that moves: a retry is answered as it was at first.

use inbox_ops::{Archive, Cancel, Config, Operation, Posted};
use inbox_testkit::desk::keyed;
use inbox_testkit::sandbox::TempDir;
use inbox_testkit::world::{World, by, task};
use serde_json::Value;

use crate::furnished::jump;
use crate::{moved, world};

const KEYS: [&str; 3] = ["k1", "k2", "k3"];

fn sent(world: &World, key: &str) -> Posted {
    let sent = world.call_as(&keyed(&by("lead"), key), &task("backend", key));
    sent.unwrap()
}

fn answers(world: &World) -> Vec<Value> {
    let answer = |key| serde_json::to_value(sent(world, key)).unwrap();
    KEYS.into_iter().map(answer).collect()
}

/// A store with three keys: the later the event, the smaller the entry's key. Two of their threads are archived.
fn archived(is_postgres: bool, folder: &TempDir) -> (World, Vec<Value>) {
    let world = world(is_postgres);
    let mut first = Vec::new();
    for (key, name) in [4000, 3000, 2000].into_iter().zip(KEYS) {
        jump(&world, key);
        let posted = sent(&world, name);
        first.push(serde_json::to_value(&posted).unwrap());
        if name != "k3" {
            let thread = posted.thread.thread_id;
            world
                .call(
                    "lead",
                    &Cancel {
                        thread,
                        reason: None,
                    },
                )
                .unwrap();
        }
    }
    jump(&world, 5000);
    world.send("lead", "backend", "after");
    let config = Config {
        folder: Some(folder.path().to_owned()),
        ..Config::default()
    };
    let archive = Archive {
        keep: Some(0),
        ..Archive::default()
    };
    let inbox = world.another().with_config(config);
    assert_eq!(archive.run(&inbox, &by("lead")).unwrap().threads, 2);
    (world, first)
}

#[test]
fn a_key_whose_thread_was_archived_is_answered_the_same_wherever_the_store_moves() {
    for is_postgres in [false, true] {
        let folder = TempDir::new();
        let (from, first) = archived(is_postgres, &folder);
        assert_eq!(answers(&from), first, "from PostgreSQL: {is_postgres}");
        for to_postgres in [false, true] {
            let to = World::place(&folder, &format!("to-{is_postgres}.db"), to_postgres);
            let copy = moved(&from, &to);
            let there = from.beside(to);
            assert_eq!(answers(&there), first, "{is_postgres} to {to_postgres}");
            let name = format!("back-{is_postgres}-{to_postgres}.db");
            let back = World::place(&folder, &name, is_postgres);
            assert_eq!(moved(&there, &back).sha256, copy.sha256);
            assert_eq!(answers(&from.beside(back)), first);
            // It goes on there: what is archived next is known as well.
            let thread = there.send("lead", "backend", "last");
            assert!(thread.key() > 4, "{thread}");
            assert_eq!(answers(&there), first);
        }
    }
}
