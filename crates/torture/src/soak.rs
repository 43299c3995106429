//! Everything at once for as long as somebody likes: 32 agents at work, kills every two seconds, and all the time a look whether
//! something is lost, out of order, damaged or growing; now and then a doctor and a backup.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use inbox_core::{EventId, ThreadId};
use inbox_ops::{Caller, Inbox, Waiting, Watch};
use inbox_store::{Location, Store};

use crate::bout::{Bout, Round};
use crate::child::{Leashed, NEVER, ends_within, eventually};
use crate::crowd::{has_room, log_bytes, memory, peak_memory};
use crate::ground::Ground;
use crate::kills::{Moment, gave_up, open_shared, strike, writer_into};
use crate::races::first;
use crate::work::{Books, Work, says_something};
use crate::{Broken, Part, must};

/// How many work at once.
const AGENTS: usize = 32;

/// How long an agent rests between two writes: a night of them must fit on a disk.
const REST: Duration = Duration::from_millis(200);

/// How long they are left alone before one of them is killed.
const EVERY: Duration = Duration::from_secs(2);

/// After so many rounds everybody's writes are looked for, and there is a doctor and a backup.
const CHECK_EVERY: u64 = 15;

/// They are seldom enough that a store of hours, which takes long to go through, is mostly written to: one in so much of the time.
const CHECK_SHARE: u32 = 5;

/// How long a doctor or a backup of such a store may take.
const CHECK_PATIENCE: Duration = NEVER.saturating_mul(10);

/// How long an agent may get nothing done before it is waited for.
const IDLE: Duration = Duration::from_secs(30);

/// What a log may have at most, beside a store that is not large: who reads a large one whole holds its log up for longer.
const LOG: u64 = 64 << 20;

/// The most memory that one of them may have, and how much more than in its first minute, in kilobytes.
const MEMORY: u64 = 128 << 10;
const MORE_MEMORY: u64 = 16 << 10;

/// The part.
pub struct Soak;

impl Part for Soak {
    fn name(&self) -> &'static str {
        "soak"
    }

    fn promise(&self) -> &'static str {
        "for as long as it goes on nothing is lost, and nothing grows without bound"
    }

    fn is_by_name(&self) -> bool {
        true
    }

    fn applies(&self, ground: &Ground<'_>) -> Result<(), String> {
        has_room(ground, AGENTS as u64 + 8)
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        // One store for all of it: a round comes after all those before it, also when it is seen again.
        let Some(ground) = bout.act(u64::MAX)? else {
            return Ok(());
        };
        let mut field = Field::open(&ground)?;
        while let Some(round) = bout.next() {
            field.round(bout, round)?;
        }
        if bout.is_stopped() {
            return Ok(());
        }
        field.end(bout)?;
        ground.is_sound_within(CHECK_PATIENCE)?;
        ground.remove();
        Ok(())
    }
}

/// One of those who work.
struct Agent {
    child: Leashed,
    work: Work,
    books: Books,
    /// How many of its steps were looked for already.
    checked: u64,
    /// When one of them was last seen to be new.
    moved: Instant,
}

/// All of them, and what is known of what they wrote.
struct Field<'a> {
    ground: &'a Ground<'a>,
    inbox: Inbox,
    shared: ThreadId,
    agents: Vec<Agent>,
    hired: u64,
    /// How many messages those wrote who are gone.
    written: u64,
    /// The newest event that was seen.
    seen: EventId,
    /// The memory of the eldest, who is never killed, after the first minute.
    memory: Option<u64>,
    /// The round from which on, and when, there is another check.
    check_at: (u64, Instant),
}

impl<'a> Field<'a> {
    fn open(ground: &'a Ground<'a>) -> Result<Self, Broken> {
        let mut field = Field {
            ground,
            inbox: ground.inbox()?,
            shared: open_shared(ground)?,
            agents: Vec::new(),
            hired: 0,
            written: 0,
            seen: EventId(0),
            memory: None,
            check_at: (CHECK_EVERY - 1, Instant::now()),
        };
        for _ in 0..AGENTS {
            let agent = field.hire()?;
            field.agents.push(agent);
        }
        Ok(field)
    }

    /// Somebody new, who says what is done into a file: it is more than a pipe holds.
    fn hire(&mut self) -> Result<Agent, Broken> {
        let books = Books::open(self.inbox.store())?;
        let work = Work::new(format!("s{}", self.hired), self.shared);
        self.hired += 1;
        let said = std::fs::File::create(said_in(self.ground, &work))?;
        let child = writer_into(self.ground, &work, u64::MAX, REST, said.into())?;
        Ok(Agent {
            child,
            work,
            books,
            checked: 0,
            moved: Instant::now(),
        })
    }

    fn round(&mut self, bout: &mut Bout<'_>, mut round: Round) -> Result<(), Broken> {
        let until = Instant::now() + EVERY;
        while Instant::now() < until && !bout.is_stopped() {
            std::thread::sleep(Duration::from_millis(50));
            self.is_bounded(bout)?;
        }
        // One who rests at no time, so that kills fall into its writes as well.
        let work = Work::new(format!("h{}", round.number), self.shared);
        let mut books = Books::open(self.inbox.store())?;
        let struck = strike(self.ground, work, Moment::of(&mut round.dice))?;
        self.bury(bout, struck, &mut books)?;
        let place = 1 + round.dice.place(AGENTS - 1);
        let next = self.hire()?;
        let mut agent = std::mem::replace(&mut self.agents[place], next);
        bout.peak("KB of memory each", peak_memory(agent.child.id()));
        self.kill(bout, &mut agent)?;
        let events = self.follow()?;
        bout.count("events in order", events);
        if round.number >= self.check_at.0 && Instant::now() >= self.check_at.1 {
            let begun = Instant::now();
            self.check(bout)?;
            self.check_at = (
                round.number + CHECK_EVERY,
                Instant::now() + CHECK_SHARE * begun.elapsed(),
            );
        }
        Ok(())
    }

    /// While everybody writes: their writes, a copy and a doctor.
    fn check(&mut self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        self.look_at_all()?;
        self.copy(bout)?;
        self.ground.is_sound_within(CHECK_PATIENCE)?;
        bout.count("checks", 1);
        Ok(())
    }

    /// That neither the log nor the eldest has grown without bound.
    fn is_bounded(&mut self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        let log = log_bytes(self.ground);
        bout.peak("bytes of log", log);
        let store = self.ground.file().and_then(|file| file.metadata().ok());
        let most = LOG.max(store.map_or(0, |found| found.len() / 2));
        must(log < most, || format!("the log grew to {log} bytes"))?;
        let eldest = memory(self.agents[0].child.id());
        must(eldest < MEMORY, || {
            format!("an agent has {eldest} KB of memory")
        })?;
        if bout.rounds() > CHECK_EVERY {
            let before = *self.memory.get_or_insert(eldest);
            must(eldest < before + MORE_MEMORY, || {
                format!(
                    "an agent had {before} KB of memory after its first minute, and has {eldest}"
                )
            })?;
        }
        Ok(())
    }

    /// Kills one, and looks for all that it said.
    fn kill(&mut self, bout: &mut Bout<'_>, agent: &mut Agent) -> Result<(), Broken> {
        if agent.child.try_wait()?.is_some() {
            return Err(gave_up(&mut agent.child, &agent.work));
        }
        agent.child.kill()?;
        agent.child.wait()?;
        heard(self.ground, &mut agent.work)?;
        std::fs::remove_file(said_in(self.ground, &agent.work))?;
        self.bury_from(bout, agent.work.clone(), &mut agent.books, agent.checked)
    }

    fn bury(&mut self, bout: &mut Bout<'_>, work: Work, books: &mut Books) -> Result<(), Broken> {
        self.bury_from(bout, work, books, 0)
    }

    /// That what one who is dead said is there, and that what it did not say can be tried again.
    fn bury_from(
        &mut self,
        bout: &mut Bout<'_>,
        mut work: Work,
        books: &mut Books,
        from: u64,
    ) -> Result<(), Broken> {
        bout.count("kills", 1);
        bout.count("acknowledged", work.step);
        let own = format!("{}-", work.prefix);
        books.read(self.inbox.store(), &own)?;
        books.hold_from(&work, from)?;
        work.go_on(&self.inbox)?;
        books.read(self.inbox.store(), &own)?;
        books.hold_from(&work, from)?;
        self.written += messages(&work);
        Ok(())
    }

    /// That every event that came since the last look came once, in order.
    fn follow(&mut self) -> Result<u64, Broken> {
        let watch = Watch {
            after_event: Some(self.seen),
            ..Watch::default()
        };
        let (mut cursor, before) = (None, self.seen.0);
        // They go on meanwhile: up to what there is now.
        let newest = self.inbox.store().newest_event()?;
        while self.seen < newest {
            let answer = watch.poll(&mut cursor, &self.inbox, &Caller::local(None))?;
            must(!answer.events.is_empty(), || {
                format!(
                    "event {} is the newest, and none comes after {}",
                    newest.0, self.seen.0
                )
            })?;
            for event in answer.events {
                must(event.event_id.0 == self.seen.0 + 1, || {
                    format!("event {} came after {}", event.event_id.0, self.seen.0)
                })?;
                self.seen = event.event_id;
            }
        }
        Ok(u64::try_from(self.seen.0 - before).unwrap_or(0))
    }

    /// That everybody is at work, and all that they said so far is there.
    fn look_at_all(&mut self) -> Result<(), Broken> {
        for agent in &mut self.agents {
            if agent.child.try_wait()?.is_some() {
                return Err(gave_up(&mut agent.child, &agent.work));
            }
            // What is written after this is looked for the next time.
            let next = Books::open(self.inbox.store())?;
            heard(self.ground, &mut agent.work)?;
            if agent.work.step == agent.checked && agent.moved.elapsed() >= IDLE {
                // It may be the machine that stood still: then it goes on while it is looked at.
                let (ground, work) = (self.ground, &mut agent.work);
                let what = format!("{} gets something done", work.prefix);
                eventually(&what, || {
                    heard(ground, work).ok()?;
                    (work.step > agent.checked).then_some(())
                })?;
            }
            if agent.work.step > agent.checked {
                agent.moved = Instant::now();
            }
            agent
                .books
                .read(self.inbox.store(), &format!("{}-", agent.work.prefix))?;
            agent.books.hold_up_to(&agent.work, agent.checked)?;
            agent.checked = agent.work.step;
            agent.books = next;
        }
        Ok(())
    }

    /// Makes a copy while everybody writes, which is sound and has what was acknowledged before.
    fn copy(&mut self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        if self.ground.is_served() {
            return Ok(());
        }
        let eldest = &self.agents[0].work;
        let last = eldest.mark(eldest.step.saturating_sub(1));
        let backup = self.ground.start("backup --to copy.db")?;
        ends_within(CHECK_PATIENCE, backup)?.ok()?;
        let copy = self.ground.folder().join("copy.db");
        let found = Store::open(&Location::File(copy.clone()))?;
        let problems = found.check()?;
        must(problems.is_empty(), || {
            format!("a copy is damaged: {problems:?}")
        })?;
        let query = format!("SELECT count(*) FROM replays WHERE key = '{last}'");
        must(first(&found.look(&query)?) == 1 || eldest.step == 0, || {
            format!("{last} was acknowledged before a copy was made, and is not in it")
        })?;
        drop(found);
        std::fs::remove_file(copy)?;
        bout.count("copies", 1);
        Ok(())
    }

    /// Looks at everybody once more, kills them, and looks whether all is there that was ever written.
    fn end(&mut self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        self.check(bout)?;
        for mut agent in std::mem::take(&mut self.agents) {
            self.kill(bout, &mut agent)?;
        }
        self.follow()?;
        let query = "SELECT count(*) FROM entries WHERE summary LIKE 's%-%' OR summary LIKE 'h%-%'";
        let there = first(&self.inbox.store().look(query)?);
        must(there == self.written, || {
            format!(
                "{} messages were written, and in the end there are {there}",
                self.written
            )
        })
    }
}

/// How many messages a line of work has written.
fn messages(work: &Work) -> u64 {
    let said = (0..work.step).filter(|step| says_something(*step));
    u64::try_from(said.count()).unwrap_or(u64::MAX)
}

/// The file in which a worker says what is done.
pub(crate) fn said_in(ground: &Ground<'_>, work: &Work) -> PathBuf {
    ground.folder().join(format!("{}.said", work.prefix))
}

/// Goes to where a worker said that it is.
pub(crate) fn heard(ground: &Ground<'_>, work: &mut Work) -> Result<(), Broken> {
    let said = std::fs::read_to_string(said_in(ground, work))?;
    for line in said.split_inclusive('\n') {
        let _ = work.said(line);
    }
    Ok(())
}
