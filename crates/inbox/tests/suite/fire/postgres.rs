//! The same on PostgreSQL.

use inbox_store::Location;
use inbox_testkit::cluster::shared;
use inbox_testkit::sandbox::{Outcome, Sandbox};

use super::race::each_gets_another;
use super::readers::see_the_same;
use super::upgrade::InTheWay;
use super::zombie::{self, cannot_write, writes};
use super::{alone, claim, ends, go_on, lapses, open, start, stop, words};
use crate::INBOX;

/// Every row of every table of a store.
fn dump(url: &str) -> Vec<String> {
    let schema = schema(url);
    let tables = shared().psql(&format!(
        "SELECT tablename FROM pg_tables WHERE schemaname = '{schema}' ORDER BY 1"
    ));
    assert!(tables.contains("entries"), "{tables}");
    tables
        .lines()
        .map(|table| {
            shared().psql(&format!(
                "SELECT t::text FROM {schema}.{table} t ORDER BY 1"
            ))
        })
        .collect()
}

/// The name of a store's schema.
fn schema(url: &str) -> &str {
    url.rsplit('=').next().expect("the URL names a schema")
}

/// Runs the commands at once.
fn race(inbox: &Sandbox, commands: &[Vec<String>]) -> Vec<Outcome> {
    let racers: Vec<_> = commands.iter().map(|args| start(inbox, args)).collect();
    racers.into_iter().map(ends).collect()
}

#[test]
fn on_postgresql_of_8_processes_that_claim_what_comes_next_each_gets_another_thread() {
    let _alone = alone();
    let inbox = Sandbox::at(INBOX, shared().fresh_url());
    each_gets_another(&inbox, 5, |commands| race(&inbox, commands));
}

#[test]
fn on_postgresql_zombies_of_every_sort_cannot_write() {
    let each = |check: fn(&Sandbox, &dyn Fn() -> Vec<String>)| {
        let url = shared().fresh_url();
        check(&Sandbox::at(INBOX, &url), &|| dump(&url));
    };
    std::thread::scope(|scope| {
        scope.spawn(move || each(|inbox, rows| zombie::taken_by_another(inbox, rows)));
        scope.spawn(move || each(|inbox, rows| zombie::ran_out(inbox, rows)));
        scope.spawn(move || each(|inbox, rows| zombie::twins(inbox, rows)));
        scope.spawn(move || each(|inbox, rows| zombie::late_report(inbox, rows)));
    });
}

/// Every kind of write is caught inside its transaction, stopped there until the lease has passed to
/// another, and continued.
#[test]
fn on_postgresql_writers_stopped_past_their_lease_are_refused_when_they_go_on() {
    let kinds = 0..writes(&Sandbox::empty(INBOX), "thr_1", "").len();
    std::thread::scope(|scope| {
        for kind in kinds {
            scope.spawn(move || {
                let url = shared().fresh_url();
                let inbox = Sandbox::at(INBOX, &url);
                let thread = open(&inbox, "late", "work");
                let old = claim(&inbox, "late", &thread, 4);
                let command = writes(&inbox, &thread, &format!("--lease {old}")).swap_remove(kind);
                let gate =
                    InTheWay::new(schema(&url), "LOCK TABLE threads IN ACCESS EXCLUSIVE MODE");
                let zombie = start(&inbox, &command);
                gate.stops_somebody();
                stop(&zombie);
                drop(gate);
                lapses(&inbox, "late", &thread);
                claim(&inbox, "other", &thread, 900);
                let before = dump(&url);
                go_on(&zombie);
                ends(zombie).refused(20, "lease_lost");
                assert_eq!(dump(&url), before, "{command:?}");
            });
        }
    });
}

#[test]
fn on_postgresql_a_worker_without_a_live_lease_cannot_write() {
    let url = shared().fresh_url();
    let inbox = Sandbox::at(INBOX, &url);
    let rows = || dump(&url);
    let thread = open(&inbox, "late", "work");
    let old = claim(&inbox, "late", &thread, 1);
    lapses(&inbox, "late", &thread);
    cannot_write(&inbox, &thread, &format!("--lease {old}"), rows);
    let new = claim(&inbox, "late", &thread, 900);
    cannot_write(&inbox, &thread, &format!("--lease {old}"), rows);
    let before = rows();
    let by_name = format!("done --agent late --thread {thread} --summary late");
    inbox.run(words(&by_name)).refused(20, "lease_lost");
    assert_eq!(rows(), before);
    let done = format!("done --lease {new} --thread {thread} --summary ready");
    inbox.run(words(&done)).ok();
}

#[test]
fn on_postgresql_readers_that_follow_from_different_starts_see_the_same_events_once_and_in_order() {
    let _alone = alone();
    let url = shared().fresh_url();
    let inbox = Sandbox::at(INBOX, &url);
    see_the_same(&inbox, &Location::parse(&url), 15);
}

/// Somebody who numbers, and is slow at it.
const NUMBERS: &str = "SELECT pg_advisory_xact_lock(1229867608, hashtext(current_schema()))";

#[test]
fn on_postgresql_what_is_acknowledged_while_another_numbers_is_there_for_every_command() {
    let commands = [
        "read --agent bob",
        "ack --agent bob --message MESSAGE",
        "reply --agent bob --thread THREAD --summary sure",
        "send --agent bob --thread THREAD --parent MESSAGE --summary sure",
        "wait-reply --agent bob --thread THREAD --kinds question --after-event 0 --timeout-seconds 60",
        "watch --agent bob --after-event 0 --timeout-seconds 60",
        "show --thread THREAD",
        "list --agent bob --after-event 0",
        "receipts --message MESSAGE",
        "search words",
    ];
    std::thread::scope(|scope| {
        for command in commands {
            scope.spawn(move || {
                let url = shared().fresh_url();
                let inbox = Sandbox::at(INBOX, &url);
                let slow = InTheWay::new(schema(&url), NUMBERS);
                let send = "send --agent alice --to bob --kind question --subject words";
                let sent = inbox.run(words(send)).ok();
                assert_eq!(sent["next_event_id"], 0, "it could not be numbered");
                drop(slow);
                let (thread, message) = (&sent["thread"], &sent["message"]);
                let filled = command
                    .replace("THREAD", thread["thread_id"].as_str().unwrap())
                    .replace("MESSAGE", message["message_id"].as_str().unwrap());
                let found = inbox.run(words(&filled)).ok().to_string();
                let is_found = found.contains(message["message_id"].as_str().unwrap());
                let is_thread = found.contains(thread["thread_id"].as_str().unwrap());
                assert!(is_found || is_thread, "{command}: {found}");
            });
        }
    });
}

#[test]
fn on_postgresql_a_keyed_write_waits_for_its_number_and_is_answered_with_it_again() {
    let url = shared().fresh_url();
    let inbox = Sandbox::at(INBOX, &url);
    let slow = InTheWay::new(schema(&url), NUMBERS);
    let send = "send --agent alice --to bob --subject words --key once";
    let first = start(&inbox, &words(send));
    slow.stops_somebody();
    drop(slow);
    let first = ends(first).ok();
    assert_eq!(first["next_event_id"], 1);
    assert_eq!(inbox.run(words(send)).ok(), first);
}

#[test]
fn on_postgresql_a_look_in_the_moment_of_a_write_sees_the_thread_with_its_message_or_neither() {
    let url = shared().fresh_url();
    let schema = schema(&url);
    let inbox = Sandbox::at(INBOX, &url);
    let thread = open(&inbox, "backend", "work");
    let token = claim(&inbox, "backend", &thread, 600);
    let gate = format!("pg_advisory_xact_lock(7, hashtext('{schema}'))");
    shared().psql(&format!(
        "CREATE FUNCTION {schema}.slowly() RETURNS trigger LANGUAGE plpgsql AS
             $$ BEGIN PERFORM {gate}; RETURN NULL; END $$;
         CREATE TRIGGER slowly AFTER UPDATE OF event_id ON {schema}.entries
             FOR EACH ROW EXECUTE FUNCTION {schema}.slowly()"
    ));
    let slow = InTheWay::new(schema, NUMBERS);
    inbox
        .run(words("send --agent alice --to bob --subject another"))
        .ok();
    drop(slow);
    let closed = InTheWay::new(schema, &format!("SELECT {gate}"));
    let look = start(&inbox, &words(&format!("show --thread {thread}")));
    closed.stops_somebody();
    let done = format!("done --agent backend --thread {thread} --lease {token} --summary ok");
    inbox.run(words(&done)).ok();
    drop(closed);
    let seen = ends(look).ok();
    let kinds: Vec<&str> = seen["messages"]
        .as_array()
        .expect("messages")
        .iter()
        .map(|message| message["kind"].as_str().expect("a kind"))
        .collect();
    assert_eq!(seen["thread"]["status"], "done");
    assert!(
        kinds.contains(&"result"),
        "it is done by no message: {kinds:?}"
    );
}
