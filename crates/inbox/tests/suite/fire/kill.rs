//! Writers killed with -9 at any moment: what was acknowledged is there once, nothing is half there.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use inbox_core::EventType;
use inbox_ops::{Caller, Claim, Inbox, Operation, Send};
use inbox_store::Location;
use inbox_testkit::sandbox::Sandbox;

use super::{Dice, alone, caller, claim, ends, in_process, open, reader, rows, start, words};
use crate::INBOX;

pub(super) const WRITERS: u64 = 4;
/// How many kinds of writes there are.
const KINDS: u64 = 5;

/// One command that is killed, and later tried again.
struct Write {
    /// Its mark: the summary that no other write has, and its key.
    mark: String,
    args: Vec<String>,
    /// Whether the whole answer was printed.
    acknowledged: bool,
}

/// What the tables hold of a write: threads opened, entries, attachments, remembered answers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Found {
    threads: u32,
    recipients: u32,
    entries: u32,
    artifacts: u32,
    claims: u32,
    replays: u32,
}

/// Gives the first column of what a query finds in the store.
pub(super) type Look<'a> = Box<dyn Fn(&str) -> Vec<String> + Sync + 'a>;

pub(super) struct Field<'a> {
    pub(super) inbox: Sandbox,
    look: Look<'a>,
    /// A conversation that everybody writes into.
    shared: String,
    /// A thread for each writer to work on, and its token.
    work: Vec<(String, String)>,
    /// A thread for each write that claims one.
    claimable: BTreeMap<u64, String>,
    /// A thread for each write that finishes one, and its token.
    finishable: BTreeMap<u64, (String, String)>,
}

/// Opens a thread of work for this agent.
fn opened(inbox: &Inbox, to: &str, subject: String) -> inbox_core::ThreadId {
    let send = Send {
        to: vec![to.parse().unwrap()],
        subject: Some(subject),
        ..Send::default()
    };
    let sent = send.run(inbox, &caller("lead")).expect("a send succeeds");
    sent.thread.thread_id
}

impl<'a> Field<'a> {
    /// Prepares a store for so many rounds.
    pub(super) fn new(
        mut inbox: Sandbox,
        location: &Location,
        look: Look<'a>,
        rounds: u64,
    ) -> Self {
        // The writers talk to each other a thousand times, on purpose.
        inbox.set("INBOX_GUARD_MAX_TURNS", "0");
        inbox.set("INBOX_GUARD_MAX_HOPS", "0");
        std::fs::write(inbox.folder().join("a.txt"), "attached").unwrap();
        let shared = open(&inbox, "crew", "shared");
        let work = (0..WRITERS)
            .map(|writer| {
                let thread = open(&inbox, "crew", &format!("work-{writer}"));
                let token = claim(&inbox, &format!("w{writer}"), &thread, 90_000);
                (thread, token)
            })
            .collect();
        // One store for each, as one process: a planted bug that commits late must get as far as the kills.
        let store = || in_process(location);
        let (mut claimable, mut finishable) = (BTreeMap::new(), BTreeMap::new());
        for n in (0..rounds * WRITERS).chain(FIRST_TRIES) {
            let writer = format!("w{}", n % WRITERS);
            match kind(n) {
                3 => {
                    let thread = opened(&store(), &writer, format!("for-mark-{n}"));
                    claimable.insert(n, thread.to_string());
                }
                4 => {
                    let thread = opened(&store(), &writer, format!("done-{n}"));
                    let claim = Claim {
                        thread: Some(thread),
                        lease_seconds: Some(90_000),
                        ..Claim::default()
                    };
                    let leased = claim.run(&store(), &Caller::local(writer.parse().ok()));
                    let token = leased.expect("it is free").lease.unwrap().lease_token;
                    finishable.insert(n, (thread.to_string(), token.unwrap().to_string()));
                }
                _ => {}
            }
        }
        Field {
            inbox,
            look,
            shared,
            work,
            claimable,
            finishable,
        }
    }

    /// The `n`th write: a new thread, a message, or a step of work; all that write a message have an
    /// attachment.
    fn write(&self, n: u64) -> Write {
        let writer = usize::try_from(n % WRITERS).unwrap();
        let mark = format!("mark-{n}");
        let line = match kind(n) {
            0 => format!("send --from w{writer} --to crew --subject {mark}"),
            1 => format!(
                "send --from w{writer} --thread {} --summary {mark}",
                self.shared
            ),
            2 => {
                let (thread, token) = &self.work[writer];
                format!("update --lease {token} --thread {thread} --summary {mark}")
            }
            3 => {
                let thread = &self.claimable[&n];
                format!("claim --agent w{writer} --thread {thread}")
            }
            _ => {
                let (thread, token) = &self.finishable[&n];
                format!("done --lease {token} --thread {thread} --summary {mark}")
            }
        };
        let artifact = if kind(n) == 3 { "" } else { "--artifact a.txt" };
        Write {
            args: words(&format!("{line} {artifact} --key {mark}")),
            mark,
            acknowledged: false,
        }
    }

    /// Starts the write, kills it after `delay` and notes whether it had answered by then.
    fn strike(&self, mut write: Write, delay: Duration) -> Write {
        let started = Instant::now();
        let mut child = start(&self.inbox, &write.args);
        // A sleep can be late, so the last bit is spun away; all of it would take the processor from
        // those who are to be killed.
        std::thread::sleep(delay.saturating_sub(Duration::from_millis(1)));
        while started.elapsed() < delay {
            std::hint::spin_loop();
        }
        child
            .kill()
            .expect("a child can be killed until it is waited for");
        child.wait().expect("the child can be waited for");
        let mut answer = String::new();
        let mut stdout = child.stdout.take().expect("its output is a pipe");
        stdout.read_to_string(&mut answer).expect("it is text");
        // However the process ended: who can read the answer was told that the write is safe.
        write.acknowledged = serde_json::from_str::<serde_json::Value>(&answer)
            .is_ok_and(|answer| answer["ok"] == true);
        write
    }

    /// Everything in the tables that carries a mark.
    fn found(&self) -> BTreeMap<String, Found> {
        let mut found: BTreeMap<String, Found> = BTreeMap::new();
        let mut tally = |sql: &str, field: fn(&mut Found) -> &mut u32| {
            for mark in (self.look)(sql) {
                *field(found.entry(mark).or_default()) += 1;
            }
        };
        tally("SELECT subject FROM threads", |found| &mut found.threads);
        tally(
            "SELECT summary FROM entries WHERE summary IS NOT NULL",
            |found| &mut found.entries,
        );
        tally(
            "SELECT t.subject FROM recipients r JOIN threads t ON t.thread_no = r.thread_no",
            |found| &mut found.recipients,
        );
        tally(
            "SELECT e.summary FROM artifacts a JOIN entries e ON e.entry_no = a.entry_no",
            |found| &mut found.artifacts,
        );
        let claims = format!(
            "SELECT substr(t.subject, 5) FROM entries e JOIN threads t ON t.thread_no = e.thread_no
              WHERE e.event_type = {} AND t.subject LIKE 'for-mark-%'",
            EventType::Claimed.code()
        );
        tally(&claims, |found| &mut found.claims);
        tally("SELECT key FROM replays", |found| &mut found.replays);
        found
    }

    fn is_sound(&self) {
        self.inbox.run(["doctor", "--json"]).ok();
    }
}

/// What the `n`th write does. Each kind falls on each writer.
fn kind(n: u64) -> u64 {
    (n / WRITERS) % KINDS
}

/// What the tables hold of a write that is there once.
fn whole(write: &Write) -> Found {
    let opens = u32::from(write.args.iter().any(|arg| arg == "--subject"));
    let claims = u32::from(write.args[0] == "claim");
    Found {
        threads: opens,
        recipients: opens,
        entries: 1 - claims,
        artifacts: 1 - claims,
        claims,
        replays: 1,
    }
}

/// Writes that are left alone, to see how long one lives.
const FIRST_TRIES: std::ops::Range<u64> = 1_000_000..1_000_010;

#[test]
fn after_250_rounds_of_4_killed_writers_every_acknowledged_write_is_there_once_and_none_by_half() {
    let _alone = alone();
    let inbox = Sandbox::new(INBOX);
    let store = inbox.store();
    let look: Look<'_> = Box::new(move |sql| {
        let found = rows(&reader(&store), sql);
        found
            .iter()
            .map(|row| row.trim_matches('|').to_owned())
            .collect()
    });
    let location = Location::File(inbox.store());
    kill_and_retry(&Field::new(inbox, &location, look, 250), 250, || {});
}

/// Kills as many writers in each round as there are, looks what is there, and tries all of them again.
/// `settle` waits until what the killed left behind is over.
pub(super) fn kill_and_retry(field: &Field<'_>, rounds: u64, settle: impl Fn()) {
    let dice = Dice::thrown();
    // How long a write lives here, so that the kills fall on all of its life and a little behind it.
    let started = Instant::now();
    for n in FIRST_TRIES {
        let write = field.write(n);
        field.inbox.run(&write.args).ok();
    }
    let life = started.elapsed() / 10;
    // Four at once live longer, and longer still on a busy machine: the span follows what it meets, so
    // that about half of them get to answer.
    let span = AtomicU64::new(u64::try_from(life.as_micros()).unwrap() * 2);
    let mut writes = Vec::new();
    for round in 0..rounds {
        std::thread::scope(|scope| {
            let strikes: Vec<_> = (0..WRITERS)
                .map(|writer| {
                    let n = round * WRITERS + writer;
                    let reach = span.load(Ordering::SeqCst);
                    let delay = Duration::from_micros(dice.nth(n).below(reach));
                    let span = &span;
                    scope.spawn(move || {
                        let write = field.strike(field.write(n), delay);
                        let percent = if write.acknowledged { 97 } else { 103 };
                        span.store(reach.max(200) * percent / 100, Ordering::SeqCst);
                        write
                    })
                })
                .collect();
            writes.extend(strikes.into_iter().map(|strike| strike.join().unwrap()));
        });
        if round % 50 == 49 {
            field.is_sound();
        }
    }
    settle();
    let found = field.found();
    let (mut told, mut kept, mut gone) = (0, 0, 0);
    for write in &writes {
        let there = found.get(&write.mark).copied().unwrap_or_default();
        if write.acknowledged {
            assert_eq!(there, whole(write), "{} was acknowledged", write.mark);
            told += 1;
        } else if there == Found::default() {
            gone += 1;
        } else {
            assert_eq!(there, whole(write), "{} is there by half", write.mark);
            kept += 1;
        }
    }
    println!("{told} writes were acknowledged, {kept} were kept untold, {gone} are gone");
    // Otherwise the kills fell beside the writes and nothing was tried.
    assert!(
        told > 20 && gone > 20,
        "{told} told, {kept} kept, {gone} gone"
    );
    let retries: Vec<_> = writes.iter().map(|write| &write.args).collect();
    for four in retries.chunks(4) {
        let children: Vec<_> = four.iter().map(|args| start(&field.inbox, args)).collect();
        for child in children {
            ends(child).ok();
        }
    }
    let found = field.found();
    for write in &writes {
        assert_eq!(
            found.get(&write.mark),
            Some(&whole(write)),
            "{}",
            write.mark
        );
    }
    field.is_sound();
}
