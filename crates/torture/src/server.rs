//! A server that is stopped, killed or dies at a named point in the midst of its clients' writes, several of which share a commit: what it
//! answered is there when it is back, and what it did not answer can be sent again.

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};

use inbox_store::FailPoint;
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::bout::Bout;
use crate::child::{Leashed, eventually, signal, words};
use crate::dice::Dice;
use crate::ground::Ground;
use crate::http::{connect, post};
use crate::points::WRITES;
use crate::races::first;
use crate::{Broken, Part, must};

/// How many clients write at once.
const CLIENTS: u64 = 4;

/// How many writes are answered before it is the server's turn, at most.
const ANSWERS: u64 = 60;

/// At which of its commits a server dies at a point, at most. Several writes share one.
const COMMITS: u64 = 12;

/// How many rounds share a store.
const ACT: u64 = 20;

/// How a server ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    /// It is told to.
    Stopped,
    /// Somebody kills it.
    Killed,
    /// It dies at this point, the how manieth time it comes there.
    Dies(FailPoint, u64),
}

impl Fate {
    /// How many rounds there are until every point of a write has had its turn, and the others as often.
    const ALL: u64 = 3 * WRITES.len() as u64;

    /// Which one it is in turn.
    fn of(turn: u64, dice: &mut Dice) -> Self {
        match turn % 3 {
            0 => Fate::Stopped,
            1 => Fate::Killed,
            _ => {
                let point = usize::try_from(turn / 3).unwrap_or_default();
                Fate::Dies(WRITES[point % WRITES.len()], 1 + dice.below(COMMITS))
            }
        }
    }

    /// That it ended as it was to end, and neither panicked nor gave up before.
    fn must_have_ended(self, status: ExitStatus) -> Result<(), Broken> {
        let (is_so, what) = match self {
            Fate::Stopped => (status.success(), "was told to stop"),
            Fate::Killed => (is_killed(status), "was killed"),
            Fate::Dies(..) => (is_killed(status), "was to die at a point"),
        };
        must(is_so, || {
            format!("a server that {what} ended with {status}")
        })
    }

    fn counted(self) -> &'static str {
        match self {
            Fate::Stopped => "stops",
            Fate::Killed => "kills",
            Fate::Dies(..) => "deaths",
        }
    }
}

/// Whether somebody killed it, or it died as if somebody had.
fn is_killed(status: ExitStatus) -> bool {
    status.signal() == Some(Signal::KILL.as_raw())
}

/// The part.
pub struct Server;

impl Part for Server {
    fn name(&self) -> &'static str {
        "server"
    }

    fn promise(&self) -> &'static str {
        "what a server answered is there after it was stopped or killed, and what it did not answer can be sent again"
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        bout.in_acts(ACT, act)
    }
}

/// Rounds on one store.
fn act(bout: &mut Bout<'_>, ground: &Ground<'_>) -> Result<(), Broken> {
    let made = ground.run("token create --agent lead")?.ok()?;
    let secret = made["secret"].as_str().unwrap_or_default().to_owned();
    let store = ground.store()?;
    while let Some(mut round) = bout.next() {
        let goal = 1 + round.dice.below(ANSWERS);
        let fate = Fate::of(round.turn(Fate::ALL), &mut round.dice);
        let (mut server, address) = start(ground, fate)?;
        let answered = AtomicU64::new(0);
        let lines = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..CLIENTS)
                .map(|client| {
                    let line = format!("{}-{client}", round.number);
                    let (address, secret, answered) = (&address, &secret, &answered);
                    scope
                        .spawn(move || (send_until_it_ends(address, secret, &line, answered), line))
                })
                .collect();
            let is_busy = eventually("the server answers or dies", || {
                let is_over = match fate {
                    Fate::Dies(..) => server.try_wait().ok().flatten().is_some(),
                    _ => answered.load(Ordering::SeqCst) >= goal,
                };
                is_over.then_some(())
            });
            let sent = match fate {
                Fate::Stopped => signal(&server, Signal::TERM),
                Fate::Killed => signal(&server, Signal::KILL),
                // Should it live on, its clients come to an end all the same.
                Fate::Dies(..) => server.kill().map_err(Broken::from),
            };
            let ended = server.wait();
            let lines: Vec<_> = clients.into_iter().map(|client| client.join()).collect();
            is_busy?;
            sent?;
            let status = ended?;
            fate.must_have_ended(status)?;
            Ok::<_, Broken>(lines)
        })?;
        bout.count(fate.counted(), 1);
        // The next one answers again what it is asked again.
        let (again, address) = start(ground, Fate::Stopped)?;
        for line in lines {
            let (told, line) = line.map_err(|panic| Broken::of_panic(&*panic))?;
            bout.count("acknowledged", told);
            for turn in 0..told {
                is_there_once(&store, &format!("{line}-{turn}"), "was answered")?;
            }
            let mark = format!("{line}-{told}");
            let mut stream = connect(&address)?;
            let is_answered = send(&mut stream, &address, &secret, &mark)?;
            must(is_answered, || {
                format!("{mark} was sent again and not answered")
            })?;
            is_there_once(&store, &mark, "was sent again")?;
        }
        drop(again);
    }
    Ok(())
}

fn is_there_once(store: &inbox_store::Store, mark: &str, why: &str) -> Result<(), Broken> {
    let query = format!("SELECT count(*) FROM threads WHERE subject = '{mark}'");
    let there = first(&store.look(&query)?);
    must(there == 1, || {
        format!("{mark} {why} and must be there once, and it is there {there} times")
    })
}

/// Starts a server, and gives where it listens.
fn start(ground: &Ground<'_>, fate: Fate) -> Result<(Leashed, String), Broken> {
    let mut command = ground.command(words("serve --listen 127.0.0.1:0"));
    if let Fate::Dies(point, time) = fate {
        command.env("INBOX_FAIL_POINT", format!("{}:{time}", point as u32));
    }
    let mut server = Leashed(command.spawn()?);
    let mut line = String::new();
    if let Some(stdout) = server.stdout.take() {
        BufReader::new(stdout).read_line(&mut line)?;
    }
    let said: Value = serde_json::from_str(&line)?;
    let url = said["url"].as_str().unwrap_or_default();
    let address = url.split_once("://").map(|(_, address)| address.to_owned());
    let address =
        address.ok_or_else(|| Broken::new(format!("a server does not say where it is: {line}")))?;
    Ok((server, address))
}

/// Sends one message after the other until the server does not answer any more; how many it answered.
fn send_until_it_ends(address: &str, secret: &str, line: &str, answered: &AtomicU64) -> u64 {
    let Ok(mut stream) = connect(address) else {
        return 0;
    };
    for turn in 0.. {
        match send(&mut stream, address, secret, &format!("{line}-{turn}")) {
            Ok(true) => answered.fetch_add(1, Ordering::SeqCst),
            Ok(false) | Err(_) => return turn,
        };
    }
    0
}

/// Sends a message whose subject and key is the mark. Whether a whole answer came that says that it is done.
fn send(stream: &mut TcpStream, address: &str, secret: &str, mark: &str) -> Result<bool, Broken> {
    let body = json!({ "to": ["bob"], "subject": mark });
    let bearer = format!("Bearer {secret}");
    let headers = [
        ("Authorization", bearer.as_str()),
        ("Idempotency-Key", mark),
    ];
    let answer = post(stream, address, "/v1/send", &headers, &body)?;
    Ok(answer.is_some_and(|answer| answer["ok"] == true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_18_rounds_a_server_dies_at_every_point_of_a_write() {
        let mut dice = Dice::new(7);
        assert_eq!(Fate::ALL, 18);
        let fates = (0..Fate::ALL).map(|turn| Fate::of(turn, &mut dice));
        let points: Vec<_> = fates
            .filter_map(|fate| match fate {
                Fate::Dies(point, _) => Some(point),
                Fate::Stopped | Fate::Killed => None,
            })
            .collect();
        assert_eq!(points, WRITES);
    }

    #[test]
    fn a_server_that_gave_up_or_panicked_by_itself_was_not_killed() {
        let dies = Fate::Dies(FailPoint::AfterCommit, 1);
        let of = |fate: Fate, raw| fate.must_have_ended(ExitStatus::from_raw(raw)).is_ok();
        let (killed, aborted, gave_up, well) = (9, 6, 50 << 8, 0);
        for fate in [Fate::Killed, dies] {
            assert!(of(fate, killed));
            for other in [aborted, gave_up, well] {
                assert!(!of(fate, other), "{other}");
            }
        }
        assert!(of(Fate::Stopped, well));
        for other in [killed, aborted, gave_up] {
            assert!(!of(Fate::Stopped, other), "{other}");
        }
    }
}
