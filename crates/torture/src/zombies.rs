//! Holders that stand still past their lease and then go on as if it were theirs: nothing of what they write is taken, and no
//! table shows a trace of it.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use inbox_core::{Code, LeaseToken, Refusal, ThreadId};
use inbox_ops::{
    Caller, Claim, Done, Fail, Fetch, Inbox, Operation, Release, Renew, Reply, Send, Update,
    UpdateStatus,
};
use inbox_store::Clock;

use crate::bout::{Bout, Round};
use crate::child::{Leashed, are_seen, eventually, go_on, stop};
use crate::dice::Dice;
use crate::ground::{Ground, caller, inbox};
use crate::races::open;
use crate::worker::WORKER;
use crate::{Broken, Part, must};

/// How many processes stand still at once.
const STOPPED: u64 = 20;

/// How many more there are for each round that the clock makes into zombies.
const SIMULATED: u64 = 200;

/// How many of those are tried between two looks at every table.
const BATCH: u64 = 10;

/// How many sorts of writes a holder has.
pub const WRITES: u64 = 8;

/// The part.
pub struct Zombies;

impl Part for Zombies {
    fn name(&self) -> &'static str {
        "zombies"
    }

    fn promise(&self) -> &'static str {
        "who lost a lease cannot write, and leaves no trace"
    }

    fn applies(&self, _ground: &Ground<'_>) -> Result<(), String> {
        are_seen()
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        while let Some(mut round) = bout.next() {
            let ground = bout.ground().another(&format!("{}", round.number))?;
            stopped(&ground, &mut round)?;
            bout.count("stopped processes", STOPPED);
            let writes = simulated(&ground, &mut round)?;
            bout.count("simulated", SIMULATED);
            bout.count("writes refused", STOPPED + writes);
            ground.is_sound()?;
            ground.remove();
        }
        Ok(())
    }
}

/// One write of a holder, by its number.
pub fn write(inbox: &Inbox, holder: &Caller, thread: ThreadId, sort: u64) -> Result<(), Refusal> {
    let late = || Some("late".to_owned());
    match sort % WRITES {
        0 => update(thread, None).run(inbox, holder).map(drop),
        1 => update(thread, Some(UpdateStatus::Blocked))
            .run(inbox, holder)
            .map(drop),
        2 => {
            let done = Done {
                thread,
                summary: late(),
                body: None,
                payload_json: None,
                artifacts: Vec::new(),
            };
            done.run(inbox, holder).map(drop)
        }
        3 => {
            let fail = Fail {
                thread,
                summary: late(),
                body: None,
                payload_json: None,
                artifacts: Vec::new(),
            };
            fail.run(inbox, holder).map(drop)
        }
        4 => {
            let renew = Renew {
                thread,
                lease_seconds: Some(900),
            };
            renew.run(inbox, holder).map(drop)
        }
        5 => Release { thread }.run(inbox, holder).map(drop),
        6 => {
            let reply = Reply {
                summary: late(),
                ..Reply::to(thread)
            };
            reply.run(inbox, holder).map(drop)
        }
        _ => {
            let send = Send {
                thread: Some(thread),
                summary: late(),
                ..Send::default()
            };
            send.run(inbox, holder).map(drop)
        }
    }
}

fn update(thread: ThreadId, status: Option<UpdateStatus>) -> Update {
    Update {
        thread,
        status,
        summary: Some("late".to_owned()),
        body: None,
        payload_json: None,
        artifacts: Vec::new(),
    }
}

/// Who proves a claim by its token alone.
pub fn holder(token: LeaseToken) -> Caller {
    Caller {
        lease: Some(token),
        ..Caller::local(None)
    }
}

fn claim(
    inbox: &Inbox,
    agent: &str,
    thread: ThreadId,
    seconds: i64,
) -> Result<LeaseToken, Refusal> {
    let claim = Claim {
        thread: Some(thread),
        lease_seconds: Some(seconds),
        ..Claim::default()
    };
    let lease = claim.run(inbox, &caller(agent)?)?.lease;
    lease
        .and_then(|lease| lease.lease_token)
        .ok_or_else(|| Refusal::new(Code::Internal, "a claim without a token"))
}

/// That a write was refused because the lease is lost.
fn must_be_lost(outcome: &Result<(), Refusal>, what: &str) -> Result<(), Broken> {
    let is_lost = matches!(outcome, Err(refusal) if refusal.code == Code::LeaseLost);
    must(is_lost, || {
        let said = match outcome {
            Ok(()) => "it was taken".to_owned(),
            Err(refusal) => format!("{} ({})", refusal.message, refusal.code),
        };
        format!("{what} must be refused with lease_lost: {said}")
    })
}

/// Real processes that hold a thread, stopped until another has it.
fn stopped(ground: &Ground<'_>, round: &mut Round) -> Result<(), Broken> {
    let inbox = ground.inbox()?;
    let mut zombies = Vec::new();
    for n in 0..STOPPED {
        let thread = open(&inbox, &format!("stopped {n}"))?;
        let sort = round.dice.below(WRITES);
        zombies.push((thread, sort, n));
    }
    // The lease begins when everything is ready for it to end.
    let mut children = Vec::new();
    for (thread, sort, n) in zombies {
        let token = claim(&inbox, &format!("late-{n}"), thread, 1)?;
        let args = [
            WORKER.to_owned(),
            "zombie".to_owned(),
            thread.to_string(),
            token.to_string(),
            sort.to_string(),
        ];
        let mut command = ground.command(args);
        command.stdin(Stdio::piped());
        let mut child = Leashed(command.spawn()?);
        let mut said = child.stdout.take().map(BufReader::new);
        must(line(&mut said)? == "ready", || {
            "a holder does not start".to_owned()
        })?;
        stop(&child)?;
        children.push((child, said, thread, sort));
    }
    for (n, (_, _, thread, _)) in children.iter().enumerate() {
        // A third stays free: who lost a lease has lost it, also when nobody took the thread.
        eventually("the lease of a stopped holder runs out", || {
            match n % 3 {
                0 => is_free(&inbox, *thread),
                1 => claim(&inbox, "other", *thread, 900).is_ok(),
                _ => claim(&inbox, &format!("late-{n}"), *thread, 900).is_ok(),
            }
            .then_some(())
        })?;
    }
    let before = ground.dump()?;
    for (mut child, mut said, thread, sort) in children {
        // The order to write is there when it goes on.
        if let Some(mut stdin) = child.stdin.take() {
            stdin.write_all(b"go\n")?;
            go_on(&child)?;
            let said = line(&mut said)?;
            must(said == Code::LeaseLost.name(), || {
                format!(
                    "write {sort} to {thread} by a revived holder must be refused with lease_lost, and it said {said:?}"
                )
            })?;
        }
    }
    let after = ground.dump()?;
    must(before == after, || changed(&before, &after))
}

/// Whether anybody of the crew may take the thread.
fn is_free(inbox: &Inbox, thread: ThreadId) -> bool {
    let found = caller("crew").and_then(|crew| Fetch::default().run(inbox, &crew));
    let is_it = |one: &inbox_core::Thread| one.thread_id == thread;
    found.is_ok_and(|found| found.threads.iter().any(is_it))
}

fn line(said: &mut Option<BufReader<ChildStdout>>) -> Result<String, Broken> {
    let mut line = String::new();
    if let Some(said) = said {
        said.read_line(&mut line)?;
    }
    Ok(line.trim_end().to_owned())
}

/// What differs between two dumps.
pub(crate) fn changed(before: &[String], after: &[String]) -> String {
    let new = after.iter().find(|row| !before.contains(row));
    let gone = before.iter().find(|row| !after.contains(row));
    format!("no table may change, and there is new {new:?}, gone {gone:?}")
}

/// Zombies made by a clock that is set: how many writes were refused.
fn simulated(ground: &Ground<'_>, round: &mut Round) -> Result<u64, Broken> {
    let clock = Arc::new(AtomicI64::new(1_790_000_000_000));
    let store = ground
        .store()?
        .with_clock(Clock::Manual(Arc::clone(&clock)));
    let inbox = inbox(store);
    let mut refused = 0;
    for batch in 0..SIMULATED / BATCH {
        let mut zombies = Vec::new();
        for n in 0..BATCH {
            let thread = open(&inbox, &format!("simulated {batch}-{n}"))?;
            zombies.push(zombie(&inbox, &clock, &mut round.dice, thread)?);
        }
        let before = inbox.store().dump()?;
        for (old, thread, how) in zombies {
            for sort in 0..WRITES {
                let outcome = write(&inbox, &holder(old), thread, sort);
                must_be_lost(&outcome, &format!("write {sort} to {thread} (way {how})"))?;
                refused += 1;
            }
        }
        let after = inbox.store().dump()?;
        must(before == after, || changed(&before, &after))?;
    }
    Ok(refused)
}

/// Lets somebody claim a thread and lose it, in one of several ways: the token, the thread and the way.
fn zombie(
    inbox: &Inbox,
    clock: &AtomicI64,
    dice: &mut Dice,
    thread: ThreadId,
) -> Result<(LeaseToken, ThreadId, u64), Broken> {
    let seconds = 1 + i64::try_from(dice.below(900)).unwrap_or(0);
    let old = claim(inbox, "late", thread, seconds)?;
    // The very millisecond in which it ends is no longer the holder's.
    let past = i64::try_from(dice.below(3) * 1_000).unwrap_or(0);
    let how = dice.below(4);
    if how == 3 {
        Release { thread }.run(inbox, &holder(old))?;
    } else {
        clock.fetch_add(seconds * 1_000 + past, Ordering::SeqCst);
    }
    match how {
        0 => {}
        2 => drop(claim(inbox, "late", thread, 90_000)?),
        _ => drop(claim(inbox, "other", thread, 90_000)?),
    }
    Ok((old, thread, how))
}
