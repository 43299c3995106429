//! Writers killed with -9 at any moment: what was acknowledged is there once, nothing is half there, and a retry with the same
//! key has one effect.

use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;
use std::time::{Duration, Instant};

use inbox_core::ThreadId;
use inbox_ops::{Operation, Send};

use crate::bout::Bout;
use crate::child::Leashed;
use crate::dice::Dice;
use crate::ground::{Ground, caller};
use crate::races::first;
use crate::work::{Books, Work, says_something};
use crate::worker::WORKER;
use crate::{Broken, Part, must};

/// How many are killed in a round.
const WRITERS: u64 = 4;

/// How many writes a writer is told of at most before it is killed: so that each sort of write is the next one.
const WRITES: u64 = 7;

/// How long a writer is left alone at most after that, as a power of two of microseconds: about as long as a write takes on a slow
/// disk, and before the first one as long as a process takes to start on a slow machine.
const SPAN: u64 = 14;
const FIRST_SPAN: u64 = 18;

/// How many rounds share a store; after them the whole of it is checked.
const ACT: u64 = 100;

/// The part.
pub struct Kills;

/// When a writer is killed. By what it has done and not by the clock alone, so that it is the same moment on a fast machine and a
/// slow one, and when the round is seen again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moment {
    /// How many writes it has been told of.
    writes: u64,
    /// How much later.
    delay: Duration,
}

impl Moment {
    pub(crate) fn of(dice: &mut Dice) -> Self {
        let writes = dice.below(WRITES);
        let span = dice.below(if writes == 0 { FIRST_SPAN } else { SPAN });
        // As often within the first few microseconds as within the last few milliseconds.
        let delay = Duration::from_micros(dice.below(2 << span));
        Moment { writes, delay }
    }
}

impl Part for Kills {
    fn name(&self) -> &'static str {
        "kills"
    }

    fn promise(&self) -> &'static str {
        "what was acknowledged is there once after kill -9, and nothing is half there"
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        let (mut told, mut untold) = (0, 0);
        while let Some(ground) = bout.act(ACT)? {
            let (acknowledged, gone) = act(bout, &ground)?;
            told += acknowledged;
            untold += gone;
            ground.remove();
        }
        // Otherwise the kills fell beside the writes and nothing was tried.
        must(
            bout.rounds() < 20 || bout.is_stopped() || (told > 0 && untold > 0),
            || format!("the kills fell beside the writes: {told} acknowledged, {untold} gone"),
        )
    }
}

/// Rounds on one store: how many writes were acknowledged, and how many of those under way were not there.
fn act(bout: &mut Bout<'_>, ground: &Ground<'_>) -> Result<(u64, u64), Broken> {
    let shared = open_shared(ground)?;
    let inbox = ground.inbox()?;
    let (mut told, mut untold, mut written) = (0, 0, 0);
    while let Some(mut round) = bout.next() {
        let own = format!("r{}-", round.number);
        let mut books = Books::open(inbox.store())?;
        let moments: Vec<_> = (0..WRITERS).map(|_| Moment::of(&mut round.dice)).collect();
        let lines = std::thread::scope(|scope| {
            let strikes: Vec<_> = (0..WRITERS)
                .zip(&moments)
                .map(|(writer, &moment)| {
                    let work = Work::new(format!("{own}{writer}"), shared);
                    scope.spawn(move || strike(ground, work, moment))
                })
                .collect();
            let join = strikes.into_iter().map(|one| one.join());
            join.map(crate::joined).collect::<Result<Vec<_>, _>>()
        })?;
        books.read(inbox.store(), &own)?;
        for mut work in lines {
            let is_kept = books.hold(&work)?;
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
    }
    drop(inbox);
    // Nothing that was there in its round has gone since.
    let there = first(&ground.look("SELECT count(*) FROM entries WHERE summary LIKE 'r%-%-%'")?);
    must(there == written as u64, || {
        format!("{written} messages were written, and in the end there are {there}")
    })?;
    ground.is_sound()?;
    Ok((told, untold))
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
    writer_into(ground, work, steps, Duration::ZERO, Stdio::piped())
}

/// The same, which rests after each step and says there what is done.
pub(crate) fn writer_into(
    ground: &Ground<'_>,
    work: &Work,
    steps: u64,
    rest: Duration,
    out: Stdio,
) -> Result<Leashed, Broken> {
    let (shared, steps) = (work.shared.to_string(), steps.to_string());
    let rest = rest.as_millis().to_string();
    let mut command = ground.command([WORKER, "work", &work.prefix, &shared, &steps, &rest]);
    command
        .stdin(Stdio::piped())
        .stdout(out)
        // At most a line, when it ends by itself.
        .stderr(Stdio::piped());
    Ok(Leashed(command.spawn()?))
}

/// Starts a writer, kills it at its moment, and gives how far it said that it had come.
pub(crate) fn strike(ground: &Ground<'_>, mut work: Work, moment: Moment) -> Result<Work, Broken> {
    let mut begun = Instant::now();
    let mut child = writer(ground, &work, u64::MAX)?;
    let mut said = child.stdout.take().map(BufReader::new);
    let mut line = String::new();
    while work.step < moment.writes {
        line.clear();
        let more = said
            .as_mut()
            .map_or(Ok(0), |said| said.read_line(&mut line))?;
        if more == 0 {
            return Err(gave_up(&mut child, &work));
        }
        let _ = work.said(&line);
        begun = Instant::now();
    }
    // A sleep can be late, so the last bit is spun away; all of it would take the processor from those who are to be killed.
    std::thread::sleep(moment.delay.saturating_sub(Duration::from_millis(1)));
    while begun.elapsed() < moment.delay {
        std::hint::spin_loop();
    }
    child.kill()?;
    child.wait()?;
    if let Some(said) = said {
        hear(said, &mut work)?;
    }
    Ok(work)
}

/// A writer that ended by itself, with what it said of it.
pub(crate) fn gave_up(child: &mut Leashed, work: &Work) -> Broken {
    let _ = child.kill();
    let status = child.wait();
    let status = status.map_or_else(|error| error.to_string(), |status| status.to_string());
    let mut said = String::new();
    if let Some(mut stderr) = child.stderr.take() {
        let _ = stderr.read_to_string(&mut said);
    }
    Broken::hindered(format!(
        "{} gave up after {} steps with {status}: {}",
        work.prefix,
        work.step,
        said.trim_end()
    ))
}

/// Goes to where a dead writer said that it was: who can read the line was told that the write is safe.
pub(crate) fn heard(child: &mut Leashed, work: &mut Work) -> Result<(), Broken> {
    match child.stdout.take() {
        Some(stdout) => hear(BufReader::new(stdout), work),
        None => Ok(()),
    }
}

fn hear(mut reader: impl BufRead, work: &mut Work) -> Result<(), Broken> {
    let mut line = String::new();
    while reader.read_line(&mut line)? > 0 {
        let _ = work.said(&line);
        line.clear();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_fall_at_moments_that_the_dice_of_the_round_alone_decide() {
        let of = |round| {
            let mut dice = Dice::of_round(7, "kills", round);
            (0..WRITERS)
                .map(|_| Moment::of(&mut dice))
                .collect::<Vec<_>>()
        };
        assert_eq!(of(212), of(212));
        assert_ne!(of(212), of(213));
        let all: Vec<_> = (0..1000).flat_map(of).collect();
        for writes in 0..WRITES {
            let those = all.iter().filter(|moment| moment.writes == writes);
            let soon = those
                .clone()
                .filter(|moment| moment.delay.as_micros() < 200);
            assert!(those.count() > 400 && soon.count() > 150, "{writes}");
        }
        let longest = all.iter().map(|moment| moment.delay).max();
        assert!(longest < Some(Duration::from_millis(300)), "{longest:?}");
    }
}
