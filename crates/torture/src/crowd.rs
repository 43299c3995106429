//! Many processes at once on one store: all are served, nothing is lost, and neither memory nor the log grows without bound.

use std::time::{Duration, Instant};

use crate::bout::Bout;
use crate::child::{Leashed, NEVER};
use crate::ground::Ground;
use crate::kills::{heard, open_shared, writer};
use crate::work::{Books, Work};
use crate::{Broken, Part, must};

/// A busy log is moved past 1000 frames; what a reader held up may come on top.
const LOG: u64 = 64 << 20;

/// The most memory that one of them may have, in kilobytes.
const MEMORY: u64 = 128 << 10;

/// How long it may take before it counts as never, for a crowd.
const PATIENCE: Duration = NEVER.saturating_mul(5);

/// How many there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Size {
    /// 64.
    Usual,
    /// 256 on a file, and 128 clients of a server.
    Large,
}

/// The part.
pub struct Crowd(pub Size);

impl Part for Crowd {
    fn name(&self) -> &'static str {
        match self.0 {
            Size::Usual => "crowd",
            Size::Large => "throng",
        }
    }

    fn promise(&self) -> &'static str {
        "however many write at once, all are served and nothing is lost"
    }

    fn is_by_name(&self) -> bool {
        self.0 == Size::Large
    }

    fn applies(&self, ground: &Ground<'_>) -> Result<(), String> {
        if !ground.is_served() {
            return Ok(());
        }
        let rows = ground
            .look("SELECT current_setting('max_connections'), (SELECT count(*) FROM pg_stat_activity)")
            .map_err(|broken| broken.what)?;
        let cells: Vec<u64> = rows
            .iter()
            .flatten()
            .flatten()
            .filter_map(|cell| cell.parse().ok())
            .collect();
        let free = cells
            .first()
            .unwrap_or(&0)
            .saturating_sub(*cells.get(1).unwrap_or(&0));
        let wanted = self.processes(ground) + 8;
        if free < wanted {
            return Err(format!(
                "the server has room for {free} more connections, and {wanted} are wanted"
            ));
        }
        Ok(())
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        let ground = bout.ground();
        let shared = open_shared(ground)?;
        let inbox = ground.inbox()?;
        while let Some(round) = bout.next() {
            let processes = self.processes(ground);
            let steps = 10 + round.dice.nth(0).below(11);
            let own = format!("c{}-", round.number);
            let mut books = Books::open(inbox.store())?;
            let mut crowd = Vec::new();
            for n in 0..processes {
                let work = Work::new(format!("{own}{n}"), shared);
                crowd.push((writer(ground, &work, steps)?, work));
            }
            let (log, memory) = until_all_end(ground, &mut crowd)?;
            bout.count("processes", processes);
            bout.peak("bytes of log", log);
            bout.peak("KB of memory each", memory);
            books.read(inbox.store(), &own)?;
            for (mut child, mut work) in crowd {
                let status = child.wait()?;
                heard(&mut child, &mut work)?;
                must(status.success() && work.step == steps, || {
                    format!(
                        "a writer ended with {status} after {} of {steps} steps",
                        work.step
                    )
                })?;
                let more = books.hold(&work)?;
                must(!more, || format!("{} went on after its end", work.prefix))?;
                bout.count("acknowledged", steps);
            }
            must(log < LOG, || format!("the log grew to {log} bytes"))?;
            must(memory < MEMORY, || {
                format!("a process had {memory} KB of memory")
            })?;
        }
        drop(inbox);
        ground.is_sound()
    }
}

impl Crowd {
    fn processes(&self, ground: &Ground<'_>) -> u64 {
        match (self.0, ground.is_served()) {
            (Size::Usual, _) => 64,
            (Size::Large, false) => 256,
            (Size::Large, true) => 128,
        }
    }
}

/// Waits until all have ended; the longest log and the most memory that one had.
fn until_all_end(ground: &Ground<'_>, crowd: &mut [(Leashed, Work)]) -> Result<(u64, u64), Broken> {
    let deadline = Instant::now() + PATIENCE;
    let (mut log, mut memory) = (0, 0);
    loop {
        log = log.max(log_bytes(ground));
        let mut is_over = true;
        for (child, _) in &mut *crowd {
            memory = memory.max(peak_memory(child.id()));
            is_over &= child.try_wait()?.is_some();
        }
        if is_over {
            return Ok((log, memory));
        }
        must(Instant::now() < deadline, || {
            "a crowd of writers never ended".to_owned()
        })?;
        std::thread::sleep(Duration::from_millis(20));
    }
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
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let number = line.and_then(|line| line.split_whitespace().next());
    number.and_then(|text| text.parse().ok()).unwrap_or(0)
}
