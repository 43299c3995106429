//! Of many that want one thread, one gets it: 2, 8 and 64 at once, in this process and as processes of their own.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};

use inbox_core::{Code, ThreadId};
use inbox_ops::{Claim, Inbox, Operation, Send};

use crate::bout::Bout;
use crate::child::{Outcome, are_seen, ends};
use crate::crowd::room;
use crate::gate;
use crate::ground::{Ground, caller};
use crate::{Broken, Part, must};

/// How many processes race.
const PROCESSES: usize = 8;

/// How many do in some rounds beside them.
const FEW: usize = 2;
const MANY: usize = 64;

/// Every so many rounds there are races of few and of many.
const SELDOM: u64 = 50;

/// How many race within this process, in the races of one round.
const WIDTHS: [usize; 36] = {
    let mut widths = [8; 36];
    widths[0] = 2;
    widths[1] = 64;
    widths
};

/// How many rounds share a store.
const ACT: u64 = 100;

/// As many as there are in the widest race, if the server lets so many in.
const WIDEST: usize = 64;

/// The fewest for which it is tried on a server.
const NARROWEST: usize = PROCESSES;

/// How many connections of a server are left to those who race as processes, to who looks at the store meanwhile, and to the server's other
/// users: they are not to be turned away because of a race.
const SPARED: usize = PROCESSES + 16;

/// How many of those who race in one process a server has room for that takes so many more connections.
fn widest(free: u64) -> usize {
    let free = usize::try_from(free).unwrap_or(usize::MAX);
    free.saturating_sub(SPARED).min(WIDEST)
}

/// The part.
pub struct Races;

impl Part for Races {
    fn name(&self) -> &'static str {
        "races"
    }

    fn promise(&self) -> &'static str {
        "of all who claim one thread at once exactly one gets it"
    }

    fn applies(&self, _ground: &Ground<'_>) -> Result<(), String> {
        are_seen()
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        while let Some(ground) = bout.act(ACT)? {
            act(bout, &ground)?;
            ground.remove();
        }
        Ok(())
    }
}

fn act(bout: &mut Bout<'_>, ground: &Ground<'_>) -> Result<(), Broken> {
    let inbox = ground.inbox()?;
    let stable = Stable::open(ground)?;
    let mut raced = 0_u64;
    while let Some(round) = bout.next() {
        for width in widths_of_processes(ground, round.number) {
            let thread = open(&inbox, &format!("p-{}-{width}", round.number))?;
            let stood = of_processes(ground, thread, width)?;
            let what = match width {
                FEW => "of 2 processes",
                MANY => "of 64 processes",
                _ => "races of processes",
            };
            bout.count(what, 1);
            bout.peak("stood before one gate", u64::try_from(stood).unwrap_or(0));
            raced += 1;
        }
        for (n, width) in WIDTHS.into_iter().enumerate() {
            let thread = open(&inbox, &format!("t-{}-{n}", round.number))?;
            let width = width.min(stable.racers.len());
            stable.race(thread, width)?;
            bout.count("races in one process", 1);
            bout.peak("wanted one thread", u64::try_from(width).unwrap_or(0));
            raced += 1;
        }
    }
    // What the tables say, whatever the racers were told.
    let once = ground.look("SELECT count(*) FROM threads WHERE attempts = 1")?;
    let once: u64 = first(&once);
    must(once == raced, || {
        format!("{raced} threads were raced for, and {once} were claimed once")
    })?;
    ground.is_sound()
}

/// How many processes race in the races of a round. A server has connections for some, and those who race within this process have
/// most of them.
fn widths_of_processes(ground: &Ground<'_>, round: u64) -> Vec<usize> {
    let mut widths = vec![PROCESSES];
    if round.is_multiple_of(SELDOM) {
        widths.push(FEW);
        widths.extend((!ground.is_served()).then_some(MANY));
    }
    widths
}

/// The first cell of an answer, as a number.
pub(crate) fn first(rows: &inbox_store::Rows) -> u64 {
    let cell = rows.first().and_then(|row| row.first()).cloned().flatten();
    cell.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Opens a thread for anybody of the crew.
pub(crate) fn open(inbox: &Inbox, subject: &str) -> Result<ThreadId, Broken> {
    let send = Send {
        to: vec!["crew".parse()?],
        subject: Some(subject.to_owned()),
        ..Send::default()
    };
    Ok(send.run(inbox, &caller("lead")?)?.thread.thread_id)
}

/// A race of so many processes, all of which want the thread before any of them gets it. How many stood before it at once.
fn of_processes(ground: &Ground<'_>, thread: ThreadId, width: usize) -> Result<usize, Broken> {
    let (children, stood) = gate::race(ground, thread, || {
        (0..width)
            .map(|racer| ground.start(&format!("claim --agent p{racer} --thread {thread}")))
            .collect()
    })?;
    let outcomes: Vec<Outcome> = children.into_iter().map(ends).collect::<Result<_, _>>()?;
    let (won, lost): (Vec<_>, Vec<_>) = outcomes.iter().partition(|outcome| outcome.code == 0);
    // First whether all of them could ask.
    lost.iter()
        .try_for_each(|outcome| outcome.refused(20, "lease_conflict"))?;
    must(won.len() == 1, || {
        let codes: Vec<i32> = outcomes.iter().map(|outcome| outcome.code).collect();
        format!("{thread} must be given to one of {width} processes, which ended with {codes:?}")
    })?;
    Ok(stood)
}

/// A race to run: the thread, and the line at which all meet.
type Order = (ThreadId, Arc<Barrier>);

/// Racers that wait for their next race, each with a connection of its own.
struct Stable {
    racers: Vec<Sender<Order>>,
    results: Receiver<Result<bool, String>>,
}

impl Stable {
    fn open(ground: &Ground<'_>) -> Result<Self, Broken> {
        let (said, results) = channel();
        let mut racers = Vec::new();
        let wanted = u64::try_from(NARROWEST + SPARED).unwrap_or(u64::MAX);
        let free = room(ground, wanted).map_err(Broken::unable)?;
        for racer in 0..widest(free) {
            let inbox = ground.inbox()?;
            let me = caller(&format!("t{racer}"))?;
            let (order, orders) = channel::<Order>();
            let said = said.clone();
            std::thread::spawn(move || {
                for (thread, line) in orders {
                    let claim = Claim {
                        thread: Some(thread),
                        ..Claim::default()
                    };
                    line.wait();
                    let won = match claim.run(&inbox, &me) {
                        Ok(_) => Ok(true),
                        Err(refusal) if refusal.code == Code::LeaseConflict => Ok(false),
                        Err(refusal) => Err(refusal.to_string()),
                    };
                    let _ = said.send(won);
                }
            });
            racers.push(order);
        }
        Ok(Stable { racers, results })
    }

    /// Lets so many race for one thread.
    fn race(&self, thread: ThreadId, width: usize) -> Result<(), Broken> {
        let line = Arc::new(Barrier::new(width));
        for racer in self.racers.iter().take(width) {
            let sent = racer.send((thread, Arc::clone(&line)));
            must(sent.is_ok(), || "a racer has gone".to_owned())?;
        }
        let mut won = 0;
        for _ in 0..width {
            let result = crate::child::received(&self.results);
            let result = result.map_err(|_| Broken::new("a racer never came home"))?;
            won += usize::from(result?);
        }
        must(won == 1, || {
            format!("{thread} must be given to one of {width}, and {won} got it")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_race_leaves_room_on_a_server_for_its_other_users() {
        assert_eq!(widest(u64::MAX), WIDEST);
        for free in 0..200 {
            let left = free - u64::try_from(widest(free)).unwrap();
            let spared = u64::try_from(SPARED).unwrap();
            assert!(left >= spared.min(free), "{free}");
        }
        assert_eq!(widest(90), 64);
        assert_eq!(widest(40), 16);
    }
}
