//! Writers killed with -9 at any moment: what was acknowledged is there once, nothing is half there, and a retry with the same
//! key has one effect.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::{Duration, Instant};

use inbox_core::ThreadId;
use inbox_ops::{Operation, Send};

use crate::bout::Bout;
use crate::child::Leashed;
use crate::ground::{Ground, caller};
use crate::races::first;
use crate::work::{Books, Work, says_something};
use crate::worker::WORKER;
use crate::{Broken, Part, must};

/// How many are killed in a round.
const WRITERS: u64 = 4;

/// How many writes a writer should get done before it is killed, as often more as less.
const WRITES: u64 = 3;

/// The least time in which kills fall, in microseconds.
const SPAN: u64 = 2_000;

/// After so many rounds the whole store is checked.
const CHECK_EVERY: u64 = 100;

/// The part.
pub struct Kills;

impl Part for Kills {
    fn name(&self) -> &'static str {
        "kills"
    }

    fn promise(&self) -> &'static str {
        "what was acknowledged is there once after kill -9, and nothing is half there"
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        let ground = bout.ground();
        let shared = open_shared(ground)?;
        let inbox = ground.inbox()?;
        // How long a process lives before its first write is done, so that kills fall on its beginning as well. Machines are busier
        // at one time than at another: the span follows what it meets.
        let life = first_life(ground, shared)?;
        let mut span = u64::try_from(life.as_micros())
            .unwrap_or(u64::MAX)
            .max(SPAN);
        let (mut told, mut untold, mut written) = (0, 0, 0);
        while let Some(mut round) = bout.next() {
            let own = format!("r{}-", round.number);
            let mut books = Books::open(inbox.store())?;
            let delays: Vec<_> = (0..WRITERS)
                .map(|_| Duration::from_micros(round.dice.below(span)))
                .collect();
            let lines = std::thread::scope(|scope| {
                let strikes: Vec<_> = (0..WRITERS)
                    .zip(&delays)
                    .map(|(writer, &delay)| {
                        let work = Work::new(format!("{own}{writer}"), shared);
                        scope.spawn(move || strike(ground, work, delay))
                    })
                    .collect();
                let join = strikes.into_iter().map(|one| one.join());
                join.map(|one| one.unwrap_or_else(|_| Err(Broken::new("a thread panicked"))))
                    .collect::<Result<Vec<_>, _>>()
            })?;
            books.read(inbox.store(), &own)?;
            for mut work in lines {
                let is_kept = books.hold(&work)?;
                let percent = if work.step < WRITES { 103 } else { 97 };
                span = (span * percent / 100).max(SPAN);
                bout.count("kills", 1);
                bout.count("acknowledged", work.step);
                bout.count("kept untold", u64::from(is_kept));
                told += work.step;
                untold += u64::from(!is_kept);
                // Whatever became of the last one: tried again it is there once.
                work.go_on(&inbox)?;
                written += (0..work.step).filter(|step| says_something(*step)).count();
                books.read(inbox.store(), &own)?;
                books.hold(&work)?;
            }
            if round.number % CHECK_EVERY == CHECK_EVERY - 1 {
                let problems = inbox.store().check()?;
                must(problems.is_empty(), || {
                    format!("the store is damaged: {problems:?}")
                })?;
            }
        }
        drop(inbox);
        // Nothing that was there in its round has gone since.
        let there =
            first(&ground.look("SELECT count(*) FROM entries WHERE summary LIKE 'r%-%-%'")?);
        must(there == written as u64 || bout.is_stopped(), || {
            format!("{written} messages were written, and in the end there are {there}")
        })?;
        // Otherwise the kills fell beside the writes and nothing was tried.
        must(
            bout.rounds() < 20 || bout.is_stopped() || (told > 0 && untold > 0),
            || format!("the kills fell beside the writes: {told} acknowledged, {untold} gone"),
        )?;
        ground.is_sound()
    }
}

/// A conversation that every writer writes into.
pub(crate) fn open_shared(ground: &Ground<'_>) -> Result<ThreadId, Broken> {
    let send = Send {
        to: vec!["crew".parse()?],
        subject: Some("shared".to_owned()),
        ..Send::default()
    };
    let sent = send.run(&ground.inbox()?, &caller("lead")?)?;
    Ok(sent.thread.thread_id)
}

/// A process that works until it is killed, or has taken so many steps.
pub(crate) fn writer(ground: &Ground<'_>, work: &Work, steps: u64) -> Result<Leashed, Broken> {
    writer_into(ground, work, steps, Stdio::piped())
}

/// The same, which says there what is done.
pub(crate) fn writer_into(
    ground: &Ground<'_>,
    work: &Work,
    steps: u64,
    out: Stdio,
) -> Result<Leashed, Broken> {
    let (shared, steps) = (work.shared.to_string(), steps.to_string());
    let mut command = ground.command([WORKER, "work", &work.prefix, &shared, &steps]);
    command
        .stdin(Stdio::piped())
        .stdout(out)
        .stderr(Stdio::null());
    Ok(Leashed(command.spawn()?))
}

/// How long it takes until a process has done its first write, at a time when as many start at once.
fn first_life(ground: &Ground<'_>, shared: ThreadId) -> Result<Duration, Broken> {
    let begun = Instant::now();
    let mut children = Vec::new();
    for n in 0..WRITERS {
        children.push(writer(
            ground,
            &Work::new(format!("first-{n}"), shared),
            u64::MAX,
        )?);
    }
    for child in &mut children {
        let mut line = String::new();
        if let Some(stdout) = child.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        must(!line.is_empty(), || {
            "a writer does not begin to write".to_owned()
        })?;
    }
    Ok(begun.elapsed())
}

/// Starts a writer, kills it after `delay`, and gives how far it said that it had come.
fn strike(ground: &Ground<'_>, mut work: Work, delay: Duration) -> Result<Work, Broken> {
    let begun = Instant::now();
    let mut child = writer(ground, &work, u64::MAX)?;
    // A sleep can be late, so the last bit is spun away; all of it would take the processor from those who are to be killed.
    std::thread::sleep(delay.saturating_sub(Duration::from_millis(1)));
    while begun.elapsed() < delay {
        std::hint::spin_loop();
    }
    child.kill()?;
    child.wait()?;
    heard(&mut child, &mut work)?;
    Ok(work)
}

/// Goes to where a dead writer said that it was: who can read the line was told that the write is safe.
pub(crate) fn heard(child: &mut Leashed, work: &mut Work) -> Result<(), Broken> {
    let Some(stdout) = child.stdout.take() else {
        return Ok(());
    };
    let mut reader = BufReader::new(stdout);
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let _ = work.said(&line);
        line.clear();
    }
    Ok(())
}
