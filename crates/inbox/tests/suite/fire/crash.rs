//! PostgreSQL and its clients die at any moment: what was acknowledged is there once, and who is left
//! goes on by itself.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use inbox_core::{AgentName, Code, Event, EventId, EventType, LeaseToken, Refusal, ThreadId};
use inbox_ops::{Caller, Claim, Done, Operation, Send, Waiting, Watch};
use inbox_store::{Location, Store};
use inbox_testkit::cluster::Cluster;
use inbox_testkit::sandbox::Sandbox;

use inbox_torture::child::NEVER;

use super::{alone, eventually, in_process, words};
use crate::INBOX;

/// The schema of the only store in a cluster.
const SCHEMA: &str = "crashed";

fn done(thread: ThreadId, summary: &str) -> Done {
    Done {
        thread,
        summary: Some(summary.to_owned()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    }
}

/// What a query finds, in one column.
fn look(cluster: &Cluster, sql: &str) -> Vec<String> {
    let found = cluster.psql(&format!("SET search_path = {SCHEMA}; {sql}"));
    found.lines().map(str::to_owned).collect()
}

/// How often each text is there.
fn tally(cluster: &Cluster, sql: &str) -> BTreeMap<String, u32> {
    let mut found = BTreeMap::new();
    for text in look(cluster, sql) {
        *found.entry(text).or_default() += 1;
    }
    found
}

/// Says that it is over, also when a check in between fails: others would go on for ever.
struct Stops<'a>(&'a AtomicBool);

impl Drop for Stops<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn send(to: &str, subject: &str) -> Send {
    Send {
        to: vec![to.parse().unwrap()],
        subject: Some(subject.to_owned()),
        ..Send::default()
    }
}

/// What became of a write in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It was answered, perhaps at the second try.
    Told,
    /// The connection was lost when it may have been committed, and it was not tried again.
    Unknown,
    /// It was refused for sure, and not tried again.
    Refused,
}

/// What all clients of a server that crashes share.
struct Yard<'a> {
    location: &'a Location,
    over: AtomicBool,
    /// Whether also the last ones have written what they had begun.
    written: AtomicBool,
    acknowledged: AtomicU64,
    refused: AtomicU64,
    fates: Mutex<BTreeMap<String, Fate>>,
    /// Who got each thread, by the writes that were answered.
    holders: Mutex<BTreeMap<ThreadId, String>>,
    finished: Mutex<BTreeMap<ThreadId, Fate>>,
}

impl Yard<'_> {
    /// Does something until it succeeds, or once when it is not to be tried again.
    fn dare<T>(&self, again: bool, work: impl Fn() -> Result<T, Refusal>) -> (Fate, Option<T>) {
        let deadline = Instant::now() + NEVER;
        loop {
            let refusal = match work() {
                Ok(answer) => {
                    self.acknowledged.fetch_add(1, Ordering::SeqCst);
                    return (Fate::Told, Some(answer));
                }
                Err(refusal) => refusal,
            };
            assert_eq!(refusal.code, Code::Storage, "{refusal}");
            assert_ne!(refusal.hint, "", "{refusal}");
            self.refused.fetch_add(1, Ordering::SeqCst);
            if !again {
                let unknown = refusal.message.starts_with("whether the write took effect");
                return (
                    if unknown {
                        Fate::Unknown
                    } else {
                        Fate::Refused
                    },
                    None,
                );
            }
            assert!(Instant::now() < deadline, "it never succeeded: {refusal}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// Sends, claims and finishes with one connection, through every crash.
    fn work(&self, number: usize) {
        let inbox = in_process(self.location);
        let me: AgentName = format!("c{number}").parse().unwrap();
        for n in 0.. {
            if self.over.load(Ordering::SeqCst) {
                return;
            }
            let keyed = |what: &str, lease: Option<LeaseToken>| Caller {
                key: format!("{what}-{number}-{n}").parse().ok(),
                lease,
                ..Caller::local(Some(me.clone()))
            };
            // Every other one is left as it is when it fails.
            let again = n % 2 == 0;
            let mark = format!("send-{number}-{n}");
            let (fate, _) = self.dare(again, || {
                send("crew", &mark).run(&inbox, &keyed("send", None))
            });
            self.fates.lock().unwrap().insert(mark, fate);
            let crew = Caller {
                agent: "crew".parse().ok(),
                ..keyed("claim", None)
            };
            let (_, claimed) = self.dare(again, || Claim::default().run(&inbox, &crew));
            let Some((thread, lease)) = claimed.and_then(|one| one.thread.zip(one.lease)) else {
                continue;
            };
            let thread = thread.thread_id;
            let earlier = self.holders.lock().unwrap().insert(thread, me.to_string());
            assert_eq!(earlier, None, "{thread} was given to two");
            let holder = Caller {
                agent: "crew".parse().ok(),
                ..keyed("done", lease.lease_token)
            };
            let (fate, _) = self.dare(again, || done(thread, "ready").run(&inbox, &holder));
            self.finished.lock().unwrap().insert(thread, fate);
        }
    }

    /// Follows the log with one connection, through every crash.
    fn follow(&self) -> Vec<Event> {
        let inbox = in_process(self.location);
        let watch = Watch {
            after_event: Some(EventId(0)),
            ..Watch::default()
        };
        let mut cursor = None;
        let mut seen: Vec<Event> = Vec::new();
        loop {
            let over = self.written.load(Ordering::SeqCst);
            match watch.poll(&mut cursor, &inbox, &Caller::local(None)) {
                Ok(answer) if answer.events.is_empty() && over => return seen,
                Ok(answer) => seen.extend(answer.events),
                Err(refusal) if over => panic!("in the end: {refusal}"),
                Err(refusal) => assert_eq!(refusal.code, Code::Storage, "{refusal}"),
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until so many more writes were answered.
    fn let_work(&self, more: u64) {
        let goal = self.acknowledged.load(Ordering::SeqCst) + more;
        eventually("the clients go on", || {
            (self.acknowledged.load(Ordering::SeqCst) >= goal).then_some(())
        });
    }
}

/// What the program says when the server is not there.
fn is_told_what_to_do(inbox: &Sandbox) {
    for line in [
        "send --from lead --to crew --subject down --key down",
        "claim --agent crew",
        "list",
        "watch --after-event 0 --timeout-seconds 1",
    ] {
        let answer = inbox.run(words(line)).refused(50, "storage");
        let error = &answer["error"];
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("PostgreSQL at 127.0.0.1"), "{message}");
        assert!(
            error["hint"].as_str().is_some_and(|hint| !hint.is_empty()),
            "{answer}"
        );
    }
}

#[test]
fn on_postgresql_10_crashes_of_the_server_lose_nothing_that_was_acknowledged_and_clients_go_on() {
    const CLIENTS: usize = 6;
    let _alone = alone();
    let cluster = Cluster::start();
    let url = cluster.url(SCHEMA);
    let inbox = Sandbox::at(INBOX, &url);
    let location = Location::parse(&url);
    let yard = Yard {
        location: &location,
        over: AtomicBool::new(false),
        written: AtomicBool::new(false),
        acknowledged: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        fates: Mutex::default(),
        holders: Mutex::default(),
        finished: Mutex::default(),
    };
    let mut seen = Vec::new();
    std::thread::scope(|scope| {
        let yard = &yard;
        let clients: Vec<_> = (0..CLIENTS)
            .map(|number| scope.spawn(move || yard.work(number)))
            .collect();
        let reader = scope.spawn(move || yard.follow());
        let written = Stops(&yard.written);
        let stops = Stops(&yard.over);
        for crash in 0..10 {
            yard.let_work(60);
            if crash % 2 == 0 {
                cluster.stop_immediately();
            } else {
                cluster.kill_postmaster();
            }
            if crash < 2 {
                is_told_what_to_do(&inbox);
            }
            cluster.restart();
        }
        yard.let_work(60);
        drop(stops);
        for client in clients {
            client.join().expect("a client goes on");
        }
        drop(written);
        seen = reader.join().expect("the reader goes on");
    });
    println!(
        "{} writes were answered, {} tries were refused",
        yard.acknowledged.load(Ordering::SeqCst),
        yard.refused.load(Ordering::SeqCst)
    );
    // Otherwise the crashes fell beside the writes.
    assert!(yard.refused.load(Ordering::SeqCst) >= 10);
    let opened = tally(&cluster, "SELECT subject FROM threads");
    for (mark, fate) in yard.fates.lock().unwrap().iter() {
        let there = opened.get(mark).copied().unwrap_or_default();
        match fate {
            Fate::Told => assert_eq!(there, 1, "{mark} was acknowledged"),
            Fate::Refused => assert_eq!(there, 0, "{mark} was refused"),
            Fate::Unknown => assert!(there <= 1, "{mark} is there {there} times"),
        }
    }
    let ready = format!(
        "SELECT thread_no FROM entries WHERE event_type = {}",
        EventType::Done.code()
    );
    let ready = tally(&cluster, &ready);
    for (thread, fate) in yard.finished.lock().unwrap().iter() {
        let there = ready
            .get(&thread.key().to_string())
            .copied()
            .unwrap_or_default();
        match fate {
            Fate::Told => assert_eq!(there, 1, "{thread} was finished"),
            Fate::Refused => assert_eq!(there, 0, "{thread} was refused"),
            Fate::Unknown => assert!(there <= 1, "{thread} was finished {there} times"),
        }
    }
    // The reader missed nothing, and saw nothing twice: what the log is now is what it saw.
    let numbers: Vec<_> = seen.iter().map(|event| event.event_id.0).collect();
    let all: Vec<_> = (1..=i64::try_from(seen.len()).unwrap()).collect();
    assert_eq!(numbers, all);
    assert_eq!(
        look(&cluster, "SELECT max(event_id) FROM entries"),
        [seen.len().to_string()]
    );
    inbox.run(["doctor", "--json"]).ok();
    Store::open(&location).expect("and it opens anew");
}
