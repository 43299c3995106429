//! No wait misses its wake: replies around the very moment at which it starts, and a bell that is taken away.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use inbox_core::{EventId, ThreadId};
use inbox_ops::{Inbox, Operation, Reply};

use crate::bout::Bout;
use crate::child::eventually;
use crate::ground::{Ground, Woken, caller};
use crate::races::open;
use crate::{Broken, Part, must};

/// How many waits there are in a round.
pub const WAITS: u64 = 100;

/// In every so manieth round the bell is taken away from one who waits.
const WITHOUT_BELL_EVERY: u64 = 10;

/// How many rounds share a store.
const ACT: u64 = 50;

/// The part.
pub struct Wakes;

impl Part for Wakes {
    fn name(&self) -> &'static str {
        "wakes"
    }

    fn promise(&self) -> &'static str {
        "no wait misses its wake, also when nobody rings"
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        let mut rang = 0;
        while let Some(ground) = bout.act(ACT)? {
            rang += act(bout, &ground)?;
            ground.remove();
        }
        // Otherwise every reply was there before its wait, and nothing was tried.
        let waits = bout.rounds() * WAITS;
        if bout.is_stopped() || rang > waits / 20 {
            return Ok(());
        }
        Err(Broken::unable(format!(
            "of {waits} waits only {rang} were woken by the bell"
        )))
    }
}

/// Rounds on one store; how many waits the bell has woken.
fn act(bout: &mut Bout<'_>, ground: &Ground<'_>) -> Result<u64, Broken> {
    let inbox = ground.inbox()?;
    let thread = open(&inbox, "questions")?;
    let mut after = inbox.store().newest_event()?;
    let mut rang = 0;
    let replier = ground.inbox()?;
    let (orders, queue) = channel::<(Instant, String)>();
    let (said, answers) = channel();
    std::thread::spawn(move || {
        for (moment, summary) in queue {
            spin_until(moment);
            let _ = said.send(reply(&replier, thread, &summary));
        }
    });
    while let Some(round) = bout.next() {
        for n in 0..WAITS {
            let summary = format!("reply {}-{n}", round.number);
            // The reply may come first, so both lie ahead.
            let earliest = Instant::now() + Duration::from_micros(200);
            let moment = earliest + Duration::from_millis(2);
            let fire_at = earliest + Duration::from_micros(round.dice.nth(n).below(4_000));
            let sent = orders.send((fire_at, summary.clone()));
            must(sent.is_ok(), || "who replies has gone".to_owned())?;
            spin_until(moment);
            let (woken, next) = wait(ground, &inbox, thread, after, &summary)?;
            replied(&answers)?;
            after = next;
            bout.count("waits", 1);
            match woken {
                Woken::AtOnce => {}
                Woken::ByBell => {
                    rang += 1;
                    bout.count("by the bell", 1);
                }
                Woken::ByLook | Woken::InVain => {
                    return Err(Broken::new(format!("{summary} rang for nobody: {woken:?}")));
                }
            }
        }
        if round.number % WITHOUT_BELL_EVERY == 0 {
            after = without_bell(ground, thread, after)?;
            bout.count("without a bell", 1);
        }
    }
    Ok(rang)
}

fn replied(answers: &Receiver<Result<(), Broken>>) -> Result<(), Broken> {
    let answer = crate::child::received(answers);
    answer.map_err(|_| Broken::new("who replies has gone"))?
}

fn wait(
    ground: &Ground<'_>,
    inbox: &Inbox,
    thread: ThreadId,
    after: EventId,
    wanted: &str,
) -> Result<(Woken, EventId), Broken> {
    let (woken, heard, next) = (ground.wait())(inbox, &caller("lead")?, thread, after)?;
    must(heard == wanted, || {
        format!("who waited for {wanted:?} heard {heard:?}: {woken:?}")
    })?;
    Ok((woken, next))
}

fn reply(inbox: &Inbox, thread: ThreadId, summary: &str) -> Result<(), Broken> {
    let reply = Reply {
        summary: Some(summary.to_owned()),
        ..Reply::to(thread)
    };
    reply.run(inbox, &caller("worker")?)?;
    Ok(())
}

fn spin_until(moment: Instant) {
    while Instant::now() < moment {
        std::hint::spin_loop();
    }
}

/// Ends the connections on which a server tells of what is committed. Who listens there is written down with the number of its process.
const CUT: &str =
    "SELECT pg_terminate_backend(CAST(split_part(listener, '-', 1) AS INTEGER)) FROM listeners";

/// Somebody waits, and the file by which it would be rung is taken away, and on a server the connection on which it would be told as well:
/// it finds its reply by looking, or hears that it may have missed something when it is connected again.
fn without_bell(ground: &Ground<'_>, thread: ThreadId, after: EventId) -> Result<EventId, Broken> {
    let waiter_store = ground.inbox()?;
    let bell = waiter_store.store().bell().path().to_owned();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| wait(ground, &waiter_store, thread, after, "unheard"));
        eventually("somebody listens at the bell", || {
            let bytes = std::fs::read(&bell).ok()?;
            let mut waiters = bytes.chunks_exact(8).filter(|slot| slot[4..] != [0; 4]);
            waiters.next().map(drop)
        })?;
        // A writer that starts from now on makes a new bell, and the waiter hears the old one.
        std::fs::remove_file(&bell)?;
        if ground.is_served() {
            ground.look(CUT)?;
        }
        reply(&ground.inbox()?, thread, "unheard")?;
        let (woken, next) = crate::joined(waiter.join())?;
        let is_helped = woken == Woken::ByLook || (ground.is_served() && woken == Woken::ByBell);
        must(is_helped, || {
            format!("without a bell a wait must help itself: {woken:?}")
        })?;
        Ok(next)
    })
}
