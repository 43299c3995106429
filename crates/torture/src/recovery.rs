//! A large store whose processes are all killed while its log is long: the next command finds everything, within a second.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use inbox_ops::{Operation, Send};

use crate::bout::Bout;
use crate::child::{Leashed, Watch, ends, eventually};
use crate::crowd::log_bytes;
use crate::ground::{Ground, caller};
use crate::kills::{open_shared, writer_into};
use crate::soak::{heard, said_in};
use crate::work::{Books, Work};
use crate::worker::WORKER;
use crate::{Broken, Part, must};

/// How much there is when they are killed.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// How many messages there are before the first kill.
    pub messages: u64,
    /// How many bytes of log there are at least.
    pub log: u64,
}

/// As the part has it: its log is sixteen times what a busy store leaves.
const LOAD: Load = Load {
    messages: 1_000_000,
    log: 64 << 20,
};

/// How many are written in one transaction.
const BATCH: u64 = 2_000;

/// How many they are for.
const ADDRESSES: u64 = 100;

/// How many write when they are killed.
const WRITERS: u64 = 4;

/// How long the next command may take, from its start to its end.
const WITHIN: Duration = Duration::from_secs(1);

/// The part.
pub struct Recovery;

impl Part for Recovery {
    fn name(&self) -> &'static str {
        "recovery"
    }

    fn promise(&self) -> &'static str {
        "with a million messages and a long log, the first command after a kill of all answers within a second"
    }

    fn is_by_name(&self) -> bool {
        true
    }

    fn applies(&self, ground: &Ground<'_>) -> Result<(), String> {
        if ground.is_served() {
            return Err(
                "what a server's store needs after a crash is the server's matter".to_owned(),
            );
        }
        Ok(())
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        LOAD.recover(bout)
    }
}

impl Load {
    /// Kills everybody in each round, on one store, and looks how soon it answers and what it has.
    pub fn recover(self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        // Once for all rounds: to fill a store takes minutes.
        let Some(ground) = bout.act(u64::MAX)? else {
            return Ok(());
        };
        let ground = &ground;
        let shared = open_shared(ground)?;
        self.fill(bout, ground)?;
        while let Some(round) = bout.next() {
            let own = format!("v{}-", round.number);
            let mut books = Books::open(&ground.store()?)?;
            let reader = reader(ground)?;
            let mut crew = Vec::new();
            for n in 0..WRITERS {
                let work = Work::new(format!("{own}{n}"), shared);
                let said = std::fs::File::create(said_in(ground, &work))?;
                crew.push((
                    writer_into(ground, &work, u64::MAX, Duration::ZERO, said.into())?,
                    work,
                ));
            }
            // On a slow disk it takes too long, and then nothing was tried.
            eventually("the log is long", || {
                (log_bytes(ground) >= self.log || bout.is_stopped()).then_some(())
            })
            .map_err(|broken| Broken::unable(broken.what))?;
            // Who reads goes last: without it a writer would move the log.
            for (child, _) in &mut crew {
                child.kill()?;
                child.wait()?;
            }
            drop(reader);
            bout.peak("bytes of log", log_bytes(ground));
            let mut next = ground.start("send --from lead --to crew --subject afterwards")?;
            let mut took = Watch::start();
            eventually("the next command ends", || {
                took.look();
                next.try_wait().ok().flatten()
            })?;
            let took = took.counted;
            ends(next)?.ok()?;
            let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
            bout.peak("ms until the next write is answered", millis);
            must(took < WITHIN || bout.is_stopped(), || {
                format!("the next command took {millis} ms")
            })?;
            let store = ground.store()?;
            books.read(&store, &own)?;
            for (_, mut work) in crew {
                heard(ground, &mut work)?;
                books.hold(&work)?;
                bout.count("kills", 1);
                bout.count("acknowledged", work.step);
            }
        }
        ground.is_sound()
    }
    /// Writes as many messages as there shall be.
    fn fill(self, bout: &mut Bout<'_>, ground: &Ground<'_>) -> Result<(), Broken> {
        let mut inbox = ground.inbox()?;
        let lead = caller("lead")?;
        for batch in 0..self.messages / BATCH {
            if bout.is_stopped() {
                break;
            }
            inbox.share(|inbox| {
                (0..BATCH).try_for_each(|n| {
                    let send = Send {
                        to: vec![format!("agent-{}", n % ADDRESSES).parse()?],
                        subject: Some(format!("message {n} of {batch}")),
                        ..Send::default()
                    };
                    send.run(inbox, &lead).map(drop)
                })
            })??;
            bout.count("messages", BATCH);
        }
        Ok(())
    }
}

/// A process that reads, so that the log cannot be moved while it lives.
fn reader(ground: &Ground<'_>) -> Result<Leashed, Broken> {
    let mut command = ground.command([WORKER, "look"]);
    command.stdin(Stdio::piped()).stderr(Stdio::null());
    let mut child = Leashed(command.spawn()?);
    let mut line = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    must(line == "ready\n", || {
        "a reader does not begin to read".to_owned()
    })?;
    Ok(child)
}
