//! A clock that jumps: days forwards and back, back within a lease, past 2038, through summer time. A lease is as long as it was
//! promised by the store's clock, one at a time holds a thread, and the order of events does not care.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use inbox_core::record::Millis;
use inbox_core::{Code, EventId, LeaseToken, ThreadId};
use inbox_ops::{Caller, Claim, Inbox, Operation, Renew, Waiting, Watch};
use inbox_store::Clock;

use crate::bout::{Bout, Round};
use crate::child::{ends, words};
use crate::dice::Dice;
use crate::ground::{Ground, caller, inbox};
use crate::races::open;
use crate::zombies::{holder, write};
use crate::{Broken, Part, must};

/// How often the clock jumps in a round.
const JUMPS: u64 = 60;

/// How many rounds share a store.
const ACT: u64 = 20;

const SECOND: i64 = 1_000;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// Where a round may begin: today, the second before 32 bits are full, and hours that some zone has twice or not at all.
const BEGINNINGS: [i64; 5] = [
    1_790_000_000_000,
    2_147_483_647_000 - 5 * SECOND,
    // 2026-03-29T01:00:00Z and 2026-10-25T01:00:00Z: summer time in Europe begins and ends.
    1_774_746_000_000 - 2 * SECOND,
    1_792_890_000_000 - 2 * SECOND,
    4_294_967_295_000 - 5 * SECOND,
];

/// Zones that have such hours.
const ZONES: [&str; 4] = [
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "UTC",
];

/// The part.
pub struct Clocks;

impl Part for Clocks {
    fn name(&self) -> &'static str {
        "clock"
    }

    fn promise(&self) -> &'static str {
        "a clock that jumps shortens no lease, gives no thread to two, and leaves the order of events alone"
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
    let mut seen = EventId(0);
    while let Some(mut round) = bout.next() {
        let jumps = jumps(ground, &mut round)?;
        bout.count("jumps", jumps);
        let commands = in_zones(ground, &mut round.dice)?;
        bout.count("commands", commands);
        seen = in_order(&ground.inbox()?, seen)?;
    }
    bout.count("events in order", u64::try_from(seen.0).unwrap_or(0));
    ground.is_sound()
}

/// Who holds the thread, as the clock of the store has it.
struct Held {
    token: LeaseToken,
    until: i64,
}

/// Jumps about, and compares every answer with what the lease said of its end.
fn jumps(ground: &Ground<'_>, round: &mut Round) -> Result<u64, Broken> {
    let dice = &mut round.dice;
    let begin = *dice.pick(&BEGINNINGS).unwrap_or(&BEGINNINGS[0]);
    let clock = Arc::new(AtomicI64::new(begin));
    let store = ground
        .store()?
        .with_clock(Clock::Manual(Arc::clone(&clock)));
    let inbox = inbox(store);
    let thread = open(&inbox, &format!("clock {}", round.number))?;
    let mut held: Option<Held> = None;
    for jump in 0..JUMPS {
        let by = match dice.below(8) {
            0 => DAY,
            1 => -DAY,
            2 => HOUR,
            3 => -HOUR,
            4 => -SECOND,
            5 => 0,
            _ => i64::try_from(dice.below(20)).unwrap_or(0) * SECOND,
        };
        // Never before the first day: there is no clock that says so.
        let now = (clock.load(Ordering::SeqCst) + by).max(DAY);
        clock.store(now, Ordering::SeqCst);
        let who = format!("c{}", dice.below(3));
        let is_held = held.as_ref().is_some_and(|held| now < held.until);
        let what = format!("at {} after jump {jump}", Millis(now));
        match dice.below(3) {
            0 => {
                let seconds = 1 + i64::try_from(dice.below(30)).unwrap_or(0);
                match (claim(&inbox, &who, thread, seconds)?, is_held) {
                    (None, true) => {}
                    (Some((token, until)), false) => {
                        must(until - now == seconds * SECOND, || {
                            format!(
                                "{what} a lease of {seconds} s was promised, and it ends after {} ms",
                                until - now
                            )
                        })?;
                        held = Some(Held { token, until });
                    }
                    (claimed, _) => {
                        let until = held.as_ref().map(|held| Millis(held.until).to_string());
                        return Err(Broken::new(format!(
                            "{what} {thread} is held until {until:?}, and a claim gave {}",
                            if claimed.is_some() {
                                "it away"
                            } else {
                                "nothing"
                            }
                        )));
                    }
                }
            }
            1 => {
                let Some(holding) = &mut held else { continue };
                let renew = Renew {
                    thread,
                    lease_seconds: Some(10),
                };
                match (renew.run(&inbox, &holder(holding.token)), is_held) {
                    (Ok(answer), true) => {
                        let until = answer.lease.map_or(0, |lease| lease.expires_at.0);
                        must(until >= holding.until.min(now + 10 * SECOND), || {
                            format!("{what} a renewal shortened the lease to {}", Millis(until))
                        })?;
                        holding.until = until;
                    }
                    (Err(refusal), false) if refusal.code == Code::LeaseLost => {}
                    (answer, _) => {
                        return Err(Broken::new(format!(
                            "{what} the lease ends at {}, and a renewal gave {:?}",
                            Millis(holding.until),
                            answer.map(|answer| answer.lease)
                        )));
                    }
                }
            }
            _ => {
                let Some(holding) = &held else { continue };
                match (write(&inbox, &holder(holding.token), thread, 0), is_held) {
                    (Ok(()), true) => {}
                    (Err(refusal), false) if refusal.code == Code::LeaseLost => {}
                    (answer, _) => {
                        return Err(Broken::new(format!(
                            "{what} the lease ends at {}, and a write gave {answer:?}",
                            Millis(holding.until)
                        )));
                    }
                }
            }
        }
    }
    Ok(JUMPS)
}

fn claim(
    inbox: &Inbox,
    who: &str,
    thread: ThreadId,
    seconds: i64,
) -> Result<Option<(LeaseToken, i64)>, Broken> {
    let claim = Claim {
        thread: Some(thread),
        lease_seconds: Some(seconds),
        ..Claim::default()
    };
    match claim.run(inbox, &caller(who)?) {
        Ok(answer) => Ok(answer
            .lease
            .and_then(|lease| Some((lease.lease_token?, lease.expires_at.0)))),
        Err(refusal) if refusal.code == Code::LeaseConflict => Ok(None),
        Err(refusal) => Err(refusal.into()),
    }
}

/// Commands at such hours in such zones: what they write has the time that they were given.
fn in_zones(ground: &Ground<'_>, dice: &mut Dice) -> Result<u64, Broken> {
    let begin = *dice.pick(&BEGINNINGS).unwrap_or(&BEGINNINGS[0]);
    let now = Millis(begin + i64::try_from(dice.below(10)).unwrap_or(0) * SECOND).to_string();
    let zone = *dice.pick(&ZONES).unwrap_or(&"UTC");
    let run = |line: &str| {
        let mut command = ground.command(words(line));
        command.env("INBOX_NOW", &now).env("TZ", zone);
        ends(crate::child::Leashed(command.spawn()?))?.ok()
    };
    let sent = run("send --from lead --to crew --subject zone")?;
    let created = &sent["message"]["created_at"];
    must(*created == now.as_str(), || {
        format!("at {now} in {zone} a message is of {created}")
    })?;
    let thread = sent["thread"]["thread_id"].as_str().unwrap_or_default();
    let claimed = run(&format!(
        "claim --agent crew --thread {thread} --lease-seconds 3600"
    ))?;
    let until = claimed["lease"]["expires_at"].as_str().unwrap_or_default();
    let until: Millis = until
        .parse()
        .map_err(|_| Broken::new(format!("{until:?} is no time")))?;
    let begun: Millis = now
        .parse()
        .map_err(|_| Broken::new(format!("{now:?} is no time")))?;
    must(until.0 - begun.0 == HOUR, || {
        format!("at {now} in {zone} a lease of an hour ends at {until}")
    })?;
    Ok(2)
}

/// Events after this one have larger numbers, whatever their times are. The last one.
fn in_order(inbox: &Inbox, after: EventId) -> Result<EventId, Broken> {
    let watch = Watch {
        after_event: Some(after),
        ..Watch::default()
    };
    let mut cursor = None;
    let mut last = after;
    loop {
        let answer = watch.poll(&mut cursor, inbox, &Caller::local(None))?;
        if answer.events.is_empty() {
            return Ok(last);
        }
        for event in answer.events {
            must(event.event_id > last, || {
                format!("event {} comes after {}", event.event_id.0, last.0)
            })?;
            last = event.event_id;
        }
    }
}
