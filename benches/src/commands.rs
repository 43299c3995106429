//! Whole commands, one process each, round-robin.

use std::path::Path;
use std::process::Command;

use crate::Outcome;
use crate::lab::{Lab, caller, open, send_task, timed};
use crate::peers::Peers;
use crate::report::Report;
use crate::stats::{Samples, ratio};

/// How often each command runs.
const ROUNDS: usize = 100;

/// How many threads a fetch finds.
const FOUND: usize = 20;

const SEND: &[&str] = &[
    "send",
    "--from",
    "alice",
    "--to",
    "bob",
    "--subject",
    "please review pull request 417",
];
const FETCH: &[&str] = &["fetch", "--agent", "bob"];

struct Contender {
    /// Its place in the table.
    place: usize,
    name: &'static str,
    command: Command,
    samples: Samples,
}

/// Measures a send and a fetch, alone and beside a keeper, and what they are compared with.
pub(crate) fn measure(lab: &Lab, peers: &Peers, report: &mut Report) -> Outcome<()> {
    let alone = lab.store("send-alone")?;
    let kept = lab.store("send-kept")?;
    let fetch_alone = filled(lab, "fetch-alone")?;
    let fetch_kept = filled(lab, "fetch-kept")?;
    let shell = lab.store("send-shell")?;
    // This process is the keeper: what it has open stays open while the others come and go.
    let keepers = [open(&kept)?, open(&fetch_kept)?];
    let mut contenders = vec![
        contender("/bin/true", Lab::clean(Path::new("/bin/true"), &shell)),
        contender("`inbox send`", lab.inbox(&alone, SEND)),
        contender("`inbox send`, keeper", lab.inbox(&kept, SEND)),
        contender("`inbox fetch` of 20", lab.inbox(&fetch_alone, FETCH)),
        contender("`inbox fetch` of 20, keeper", lab.inbox(&fetch_kept, FETCH)),
    ];
    let mut shell_send = Lab::clean(Path::new("sqlite3"), lab.target.as_path());
    shell_send.arg("-batch").arg(&shell).arg(SHELL_SEND);
    if timed(&mut shell_send).is_ok() {
        contenders.push(contender("`sqlite3` shell, same rows", shell_send));
    } else {
        report.missing("the `sqlite3` shell: it is not here or refused the statement".to_owned());
    }
    if let Some(hcom) = &peers.hcom {
        contenders.push(contender("`hcom send`", hcom.send()));
    }
    if let Some(agent_bus) = &peers.agent_bus {
        contenders.push(contender("`agent-bus send`", agent_bus.send()));
    }
    for (place, contender) in contenders.iter_mut().enumerate() {
        contender.place = place;
    }
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for round in 0..=ROUNDS {
        // Any order in each round: what a command finds in the caches depends on who came before it.
        for place in (1..contenders.len()).rev() {
            contenders.swap(place, dice.below(place + 1));
        }
        for contender in &mut contenders {
            let took = timed(&mut contender.command)?;
            // The first round warms the caches and is not counted.
            if round > 0 {
                contender.samples.push(took);
            }
        }
    }
    drop(keepers);
    contenders.sort_by_key(|contender| contender.place);
    tell(&contenders, report);
    Ok(())
}

/// Numbers without an order (xorshift), the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % end
    }
}

fn tell(contenders: &[Contender], report: &mut Report) {
    let median = |name: &str| {
        let found = contenders.iter().find(|contender| contender.name == name);
        found.map(|contender| contender.samples.median())
    };
    let (Some(base), Some(send)) = (median("/bin/true"), median("`inbox send`")) else {
        return;
    };
    for contender in contenders {
        let times = ratio(contender.samples.median(), base);
        let name = format!("{}, one process", contender.name);
        report.fact(
            &name,
            contender.samples.words(),
            format!("{times:.2}× `/bin/true`"),
        );
    }
    let measured = |name: &str| {
        median(name).map_or_else(String::new, |other| {
            format!(
                "{} against {}",
                crate::stats::time(send),
                crate::stats::time(other)
            )
        })
    };
    let times = ratio(send, base);
    let words = measured("/bin/true");
    let name = "`inbox send` against `/bin/true`";
    report.goal(
        name,
        words,
        format!("{times:.2}×"),
        "at most 2.5×",
        times <= 2.5,
    );
    for (other, least, goal) in [
        ("`sqlite3` shell, same rows", 1.0, "faster"),
        ("`hcom send`", 4.0, "at least 4× faster"),
        ("`agent-bus send`", 60.0, "at least 60× faster"),
    ] {
        if let Some(took) = median(other) {
            let times = ratio(took, send);
            let name = format!("`inbox send` against {other}");
            let words = measured(other);
            report.goal(
                &name,
                words,
                format!("{times:.1}× faster"),
                goal,
                times >= least,
            );
        }
    }
}

fn contender(name: &'static str, command: Command) -> Contender {
    Contender {
        place: 0,
        name,
        command,
        samples: Samples::default(),
    }
}

/// A store in which a fetch finds something.
fn filled(lab: &Lab, name: &str) -> Outcome<std::path::PathBuf> {
    let path = lab.store(name)?;
    let inbox = open(&path)?;
    let alice = caller("alice")?;
    for _ in 0..FOUND {
        send_task(&inbox, &alice, "bob")?;
    }
    Ok(path)
}

/// What `inbox send` writes, for a shell that knows nothing: the names, the thread, its address and
/// its entry.
const SHELL_SEND: &str = "
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
BEGIN IMMEDIATE;
INSERT OR IGNORE INTO agents (name, kind, created_at) VALUES ('alice', 1, 1760000000000);
INSERT OR IGNORE INTO addresses (mode, address) VALUES (1, 'bob');
INSERT INTO threads (version, status, priority, opened_by_kind, creator_no, to_no, attempts, epoch, created_at, updated_at, subject)
VALUES (1, 1, 3, 1, 1, 1, 0, 0, 1760000000000, 1760000000000, 'please review pull request 417');
INSERT INTO recipients (address_no, thread_no, priority, queue) VALUES (1, last_insert_rowid(), 3, 1);
INSERT INTO entries (thread_no, event_type, status, source_no, created_at, kind, to_no, auth, uid_random, summary)
VALUES ((SELECT MAX(thread_no) FROM threads), 1, 1, 1, 1760000000000, 1, 1, 1, random(), 'please review pull request 417');
INSERT INTO deliveries (address_no, is_acked, entry_no) VALUES (1, 0, (SELECT MAX(entry_no) FROM entries));
UPDATE threads SET latest_message = (SELECT MAX(entry_no) FROM entries) WHERE thread_no = (SELECT MAX(thread_no) FROM threads);
COMMIT;
";
