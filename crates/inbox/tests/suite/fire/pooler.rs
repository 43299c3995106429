//! Behind a pooler everything works, nothing is left behind in its server connections, and the doctor says
//! what is lost there.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use inbox_ops::{Claim, Done, Inbox, Operation, Search, Send};
use inbox_store::{Location, Store};
use inbox_testkit::cluster::{Cluster, shared};
use inbox_testkit::pooler::{Mode, Pooler};
use inbox_testkit::sandbox::Sandbox;

use super::{Leashed, alone, caller, claim, ends, in_process, open, start, text, words};
use crate::INBOX;

/// A schema that no other test has.
fn fresh_schema() -> String {
    let url = shared().fresh_url();
    url.rsplit('=').next().expect("it names one").to_owned()
}

/// A thread's life and a letter's, by real processes.
fn plays_the_story(inbox: &Sandbox) {
    let thread = open(inbox, "worker", "story");
    let lease = claim(inbox, "worker", &thread, 900);
    let held = format!("--lease {lease} --thread {thread}");
    inbox
        .run(words(&format!(
            "update {held} --status blocked --summary which"
        )))
        .ok();
    let answer = format!("reply --from lead --thread {thread} --summary this");
    inbox.run(words(&answer)).ok();
    let wait = format!("wait-reply --lease {lease} --thread {thread} --timeout-seconds 60");
    let woke = inbox.run(words(&wait)).ok();
    assert_eq!(woke["message"]["summary"], "this");
    inbox
        .run(words(&format!("done {held} --summary ready")))
        .ok();
    let shown = inbox.run(words(&format!("show --thread {thread}"))).ok();
    assert_eq!(shown["thread"]["status"], "done");

    let found = inbox.run(words("search ready")).ok();
    assert!(found.to_string().contains(&thread), "{found}");
    let seen = inbox
        .run(words("watch --after-event 0 --timeout-seconds 60"))
        .ok();
    let first = seen["events"][0]["event_id"].as_i64();
    assert_eq!(first, Some(1), "{seen}");

    let letter = "send --from lead --to reader --kind question --subject letter --key once";
    let sent = inbox.run(words(letter)).ok();
    assert_eq!(inbox.run(words(letter)).ok()["message"], sent["message"]);
    let read = inbox.run(words("read --agent reader")).ok();
    let message = text(&read["messages"][0]["message_id"]);
    inbox
        .run(words(&format!("ack --agent reader {message}")))
        .ok();
    let again = inbox.run(words("read --agent reader"));
    assert!(!again.stdout.contains(&message), "{again}");
}

/// What the doctor finds of the connection, and its hint.
fn connection(inbox: &Sandbox) -> (String, String, String) {
    let found = inbox.run(["doctor", "--json"]).ok();
    let checks = found["checks"].as_array().expect("checks").clone();
    let check = checks
        .iter()
        .find(|check| check["name"] == "connection")
        .expect("the connection is looked at");
    let cell = |name: &str| check[name].as_str().unwrap_or_default().to_owned();
    (cell("status"), cell("message"), cell("hint"))
}

/// What inbox sets, and what else a session can keep, as the two server connections of a pool have it.
fn left_behind(cluster: &Cluster, pooler: &Pooler) -> Vec<String> {
    let sql = "SELECT string_agg(name || '=' || setting, ' ' ORDER BY name)
                      || ' prepared=' || (SELECT count(*) FROM pg_prepared_statements)
                      || ' channels=' || (SELECT count(*) FROM pg_listening_channels())
                      || ' locks=' || (SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'advisory')
                 FROM pg_settings
                WHERE name IN ('search_path', 'statement_timeout', 'lock_timeout', 'synchronous_commit',
                               'idle_in_transaction_session_timeout', 'row_security', 'enable_seqscan', 'jit')";
    let sql = sql.replace('\n', " ");
    // While this client has the one server connection, the next gets the other.
    let mut client = pooler.client(cluster);
    let client = client.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut client = Leashed(client.spawn().expect("psql starts"));
    let mut said = BufReader::new(client.stdout.take().expect("a pipe")).lines();
    let mut next = || said.next().expect("psql says more").expect("it is text");
    let mut stdin = client.stdin.take().expect("a pipe");
    let process = "SELECT pg_backend_pid();";
    writeln!(stdin, "BEGIN; {process} {sql};").expect("psql is there");
    let (first, mut found) = (next(), vec![next()]);
    let other = pooler.psql(cluster, &format!("{process} {sql}"));
    let (second, left) = other.split_once('\n').expect("two rows");
    assert_ne!(first, second, "both connections are looked at");
    found.push(left.to_owned());
    found.push(cluster.psql(&sql));
    found
}

fn works(inbox: &Inbox, name: &str, rounds: u32) {
    let (lead, worker) = (caller("lead"), caller(name));
    for round in 0..rounds {
        let sent = Send {
            to: vec![name.parse().unwrap()],
            subject: Some(format!("job {round}")),
            ..Send::default()
        };
        let sent = sent.run(inbox, &lead).unwrap();
        let claimed = Claim::default().run(inbox, &worker).unwrap();
        let lease = claimed.lease.and_then(|lease| lease.lease_token);
        let holder = inbox_ops::Caller {
            lease,
            ..worker.clone()
        };
        let done = Done {
            thread: sent.thread.thread_id,
            summary: Some(format!("done {round}")),
            body: None,
            payload_json: None,
            artifacts: Vec::new(),
        };
        done.run(inbox, &holder).unwrap();
    }
}

#[test]
fn behind_a_transaction_pooler_the_story_plays_and_the_doctor_says_what_is_lost() {
    let pooler = Pooler::start(shared(), Mode::Transaction);
    let inbox = Sandbox::at(INBOX, pooler.url(&fresh_schema()));
    plays_the_story(&inbox);
    let (status, found, hint) = connection(&inbox);
    assert_eq!(status, "warning");
    assert!(found.contains("through a pooler"), "{found}");
    assert!(found.contains("waits look once a second"), "{found}");
    assert!(hint.contains("--db"), "{hint}");
    let left = left_behind(shared(), &pooler);
    assert!(left.iter().all(|one| *one == left[2]), "{left:#?}");
}

#[test]
fn behind_a_session_pooler_the_story_plays_too() {
    let pooler = Pooler::start(shared(), Mode::Session);
    let inbox = Sandbox::at(INBOX, pooler.url(&fresh_schema()));
    plays_the_story(&inbox);
    assert_eq!(connection(&inbox).0, "warning");
    let directly = Sandbox::at(INBOX, shared().fresh_url());
    let (status, found, _) = connection(&directly);
    assert_eq!(status, "ok");
    assert!(found.contains("direct"), "{found}");
}

#[test]
fn eight_clients_share_two_server_connections_and_leave_nothing_behind() {
    const CLIENTS: usize = 8;
    const ROUNDS: u32 = 25;
    let _alone = alone();
    let pooler = Pooler::start(shared(), Mode::Transaction);
    let location = Location::parse(&pooler.url(&fresh_schema()));
    Store::init(&location).unwrap();
    std::thread::scope(|scope| {
        for n in 0..CLIENTS {
            let location = &location;
            scope.spawn(move || works(&in_process(location), &format!("worker-{n}"), ROUNDS));
        }
    });
    // One after the other on long-lived connections, so that each transaction may have another server process.
    let (one, other) = (in_process(&location), in_process(&location));
    for _ in 0..10 {
        works(&one, "one", 1);
        works(&other, "other", 1);
    }
    let search = Search {
        query: "done".into(),
        limit: Some(10_000),
        ..Search::default()
    };
    let found = search.run(&one, &caller("lead")).unwrap();
    assert_eq!(found.hits.len(), CLIENTS * ROUNDS as usize + 20);
    // While its clients are still connected.
    let left = left_behind(shared(), &pooler);
    assert!(left.iter().all(|one| *one == left[2]), "{left:#?}");
    drop((one, other));
}

#[test]
fn a_wait_behind_a_transaction_pooler_ends_by_looking_and_leaves_no_listener() {
    let schema = fresh_schema();
    let pooler = Pooler::start(shared(), Mode::Transaction);
    let inbox = Sandbox::at(INBOX, pooler.url(&schema));
    // Another name of the store has another bell: what it commits can only be heard of, or looked for.
    let elsewhere = Sandbox::at(INBOX, shared().url(&schema));
    for round in 0..3 {
        // More who wait than there are server connections.
        let waiters: Vec<_> = (0..5)
            .map(|n| {
                let thread = open(&inbox, "worker", &format!("question-{round}-{n}"));
                let line =
                    format!("wait-reply --agent lead --thread {thread} --timeout-seconds 300");
                (thread, start(&inbox, &words(&line)))
            })
            .collect();
        for (thread, waiter) in waiters {
            let line = format!("reply --from worker --thread {thread} --summary for-{thread}");
            elsewhere.run(words(&line)).ok();
            let woke = ends(waiter).ok();
            assert_eq!(woke["message"]["summary"], format!("for-{thread}"));
        }
        let listeners = format!("SELECT count(*) FROM {schema}.listeners");
        assert_eq!(shared().psql(&listeners), "0");
    }
    let left = left_behind(shared(), &pooler);
    assert!(left.iter().all(|one| *one == left[2]), "{left:#?}");
}

#[test]
fn what_is_written_behind_a_pooler_wakes_who_listens_to_the_server() {
    let schema = fresh_schema();
    let pooler = Pooler::start(shared(), Mode::Transaction);
    let inbox = Sandbox::at(INBOX, pooler.url(&schema));
    let directly = Location::parse(&shared().url(&schema));
    let thread = open(&inbox, "worker", "question");
    std::thread::scope(|scope| {
        let id = thread.parse().unwrap();
        let waiter = scope.spawn(move || {
            super::wake::wait(&in_process(&directly), id, inbox_core::EventId::default())
        });
        let listeners = format!("SELECT count(*) FROM {schema}.listeners");
        super::eventually("somebody listens", || {
            (shared().psql(&listeners) == "1").then_some(())
        });
        let line = format!("reply --from worker --thread {thread} --summary heard");
        inbox.run(words(&line)).ok();
        let (woken, heard, _) = waiter.join().unwrap();
        let by_bell = inbox_surfaces::cli::wait::Woken::ByBell;
        assert_eq!((woken, heard), (by_bell, "heard".to_owned()));
    });
}
