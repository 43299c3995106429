//! Many processes at once on one store: all are served, nothing is lost, and neither memory nor the log grows without bound.

use std::time::{Duration, Instant};

use inbox_ops::Inbox;

use crate::bout::Bout;
use crate::child::{Leashed, NEVER, Patience};
use crate::ground::Ground;
use crate::kills::{gave_up, heard, open_shared, writer};
use crate::races::first;
use crate::work::{Books, Work, says_something};
use crate::{Broken, Part, must};

/// A busy log is moved past 1000 frames; what a reader held up may come on top.
const LOG: u64 = 64 << 20;

/// The most memory that one of them may have, in kilobytes.
const MEMORY: u64 = 128 << 10;

/// How many rounds share a store.
const ACT: u64 = 10;

/// How often the whole store is checked while they write; of a few, who have soon written all.
const CHECK_EVERY: Duration = Duration::from_secs(2);
const CHECK_FEW_EVERY: Duration = Duration::from_millis(100);

/// How long it may take before it counts as never, for a crowd.
const PATIENCE: Duration = NEVER.saturating_mul(5);

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// 64.
    Usual,
    /// 256 on a file, and 128 clients of a server.
    Large,
    /// A small throng: so many, each of which writes so often at least.
    Few {
        /// How many.
        processes: u64,
        /// How often.
        steps: u64,
    },
}

/// The part.
pub struct Crowd(pub Size);

impl Part for Crowd {
    fn name(&self) -> &'static str {
        match self.0 {
            Size::Usual => "crowd",
            Size::Large | Size::Few { .. } => "throng",
        }
    }

    fn promise(&self) -> &'static str {
        "however many write at once, all are served and nothing is lost"
    }

    fn is_by_name(&self) -> bool {
        self.0 != Size::Usual
    }

    fn applies(&self, ground: &Ground<'_>) -> Result<(), String> {
        has_room(ground, self.processes(ground) + 8)
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        while let Some(ground) = bout.act(ACT)? {
            self.act(bout, &ground)?;
            ground.remove();
        }
        Ok(())
    }
}

/// What was seen of a crowd while it wrote.
#[derive(Default)]
struct Watched {
    /// The longest log, in bytes.
    log: u64,
    /// The most memory that one of them had, in kilobytes.
    memory: u64,
    /// How often the whole store was checked.
    checks: u64,
}

impl Crowd {
    /// Rounds on one store.
    fn act(&self, bout: &mut Bout<'_>, ground: &Ground<'_>) -> Result<(), Broken> {
        let shared = open_shared(ground)?;
        let inbox = ground.inbox()?;
        let mut written = 0;
        while let Some(round) = bout.next() {
            let processes = self.processes(ground);
            let steps = self.least_steps() + round.dice.nth(0).below(11);
            let own = format!("c{}-", round.number);
            let mut books = Books::open(inbox.store())?;
            let mut crowd = Vec::new();
            for n in 0..processes {
                let work = Work::new(format!("{own}{n}"), shared);
                crowd.push((writer(ground, &work, steps)?, work));
            }
            let watched = self.until_all_end(&inbox, ground, &mut crowd)?;
            bout.count("processes", processes);
            bout.count("checks", watched.checks);
            bout.peak("bytes of log", watched.log);
            bout.peak("KB of memory each", watched.memory);
            books.read(inbox.store(), &own)?;
            for (mut child, mut work) in crowd {
                let status = child.wait()?;
                heard(&mut child, &mut work)?;
                if !status.success() || work.step != steps {
                    return Err(gave_up(&mut child, &work));
                }
                let more = books.hold(&work)?;
                must(!more, || format!("{} went on after its end", work.prefix))?;
                bout.count("acknowledged", steps);
                written += (0..steps).filter(|step| says_something(*step)).count();
            }
            let query = "SELECT count(*) FROM entries WHERE summary LIKE 'c%-%-%'";
            let there = first(&inbox.store().look(query)?);
            must(there == written as u64, || {
                format!("{written} messages were written up to now, and there are {there}")
            })?;
            ground.is_sound()?;
        }
        Ok(())
    }

    /// How many steps each takes at least.
    fn least_steps(&self) -> u64 {
        match self.0 {
            Size::Usual => 10,
            Size::Large => 40,
            Size::Few { steps, .. } => steps,
        }
    }

    fn processes(&self, ground: &Ground<'_>) -> u64 {
        match (self.0, ground.is_served()) {
            (Size::Usual, _) => 64,
            (Size::Large, false) => 256,
            (Size::Large, true) => 128,
            (Size::Few { processes, .. }, _) => processes,
        }
    }

    /// Waits until all have ended, and looks meanwhile whether the store is sound, and whether what may not grow does.
    fn until_all_end(
        &self,
        inbox: &Inbox,
        ground: &Ground<'_>,
        crowd: &mut [(Leashed, Work)],
    ) -> Result<Watched, Broken> {
        let mut patience = Patience::of(PATIENCE);
        let every = match self.0 {
            Size::Usual | Size::Large => CHECK_EVERY,
            Size::Few { .. } => CHECK_FEW_EVERY,
        };
        let mut check = Instant::now() + every;
        let mut seen = Watched::default();
        loop {
            seen.log = seen.log.max(log_bytes(ground));
            must(seen.log < LOG, || {
                format!("the log grew to {} bytes", seen.log)
            })?;
            let mut is_over = true;
            for (child, _) in &mut *crowd {
                seen.memory = seen.memory.max(peak_memory(child.id()));
                is_over &= child.try_wait()?.is_some();
            }
            must(seen.memory < MEMORY, || {
                format!("a process had {} KB of memory", seen.memory)
            })?;
            if Instant::now() >= check {
                is_whole(inbox)?;
                seen.checks += 1;
                check = Instant::now() + every;
            }
            if is_over {
                return Ok(seen);
            }
            must(patience.lasts(), || {
                "a crowd of writers never ended".to_owned()
            })?;
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// Whether a server takes so many more connections.
pub(crate) fn has_room(ground: &Ground<'_>, wanted: u64) -> Result<(), String> {
    room(ground, wanted).map(drop)
}

/// How many more connections a server takes, if it takes as many as are wanted; a file takes any number.
pub(crate) fn room(ground: &Ground<'_>, wanted: u64) -> Result<u64, String> {
    if !ground.is_served() {
        return Ok(u64::MAX);
    }
    let rows = ground
        .look("SELECT current_setting('max_connections'), (SELECT count(*) FROM pg_stat_activity)")
        .map_err(|broken| broken.what)?;
    let cells = rows.iter().flatten().flatten();
    let cells: Vec<u64> = cells.filter_map(|cell| cell.parse().ok()).collect();
    let [most, taken] = cells[..] else {
        return Err("the server does not say how many connections it takes".to_owned());
    };
    let free = most.saturating_sub(taken);
    if free < wanted {
        return Err(format!(
            "the server has room for {free} more connections, and {wanted} are wanted: its max_connections is {most}"
        ));
    }
    Ok(free)
}

/// That the store is whole, while others write to it.
pub(crate) fn is_whole(inbox: &Inbox) -> Result<(), Broken> {
    let problems = inbox.store().check()?;
    must(problems.is_empty(), || {
        format!("the store is damaged: {problems:?}")
    })
}

/// How long the log of a file is.
pub(crate) fn log_bytes(ground: &Ground<'_>) -> u64 {
    let Some(store) = ground.file() else { return 0 };
    let mut log = store.as_os_str().to_owned();
    log.push("-wal");
    std::fs::metadata(log).map_or(0, |found| found.len())
}

/// The most memory that a process had, in kilobytes.
pub(crate) fn peak_memory(process: u32) -> u64 {
    status_of(process, "VmHWM:")
}

/// The memory that a process has, in kilobytes.
pub(crate) fn memory(process: u32) -> u64 {
    status_of(process, "VmRSS:")
}

fn status_of(process: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|text| text.parse().ok()).unwrap_or(0)
}
