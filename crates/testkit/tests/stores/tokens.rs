//! Tokens that are shown again and again.

use std::sync::mpsc::channel;
use std::time::Duration;

use inbox_core::Scope;
use inbox_ops::TokenCreate;
use inbox_store::Location;
use inbox_testkit::world::World;

#[test]
fn a_token_that_was_seen_lately_opens_while_another_has_the_store() {
    let world = World::sqlite();
    let create = TokenCreate {
        agent: "lead".parse().unwrap(),
        scope: Scope::ALL.to_vec(),
        label: None,
        ttl_hours: None,
    };
    let secret = world.call("lead", &create).unwrap().secret.unwrap();
    let inbox = world.another();
    inbox.admit(Some(&secret)).unwrap();
    world.advance_ms(59_000);
    let Location::File(path) = world.location() else {
        panic!("a file")
    };
    let writer = rusqlite::Connection::open(path).unwrap();
    writer.execute_batch("BEGIN IMMEDIATE").unwrap();
    let (tell, told) = channel();
    let asking = std::thread::spawn(move || {
        let seen = inbox.admit(Some(&secret)).unwrap().seen_at;
        // Who asked may have given up.
        let _ = tell.send(seen);
    });
    let seen = told.recv_timeout(Duration::from_secs(5));
    writer.execute_batch("ROLLBACK").unwrap();
    asking.join().unwrap();
    assert!(seen.expect("nothing is written for it").is_some());
}
