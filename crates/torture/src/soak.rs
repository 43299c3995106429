//! Everything at once for as long as somebody likes: writers, a kill every two seconds, and now and then a doctor and a backup.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use inbox_core::ThreadId;
use inbox_store::Store;

use crate::bout::Bout;
use crate::child::Leashed;
use crate::crowd::{log_bytes, peak_memory};
use crate::ground::Ground;
use crate::kills::{open_shared, writer_into};
use crate::work::{Books, Work};
use crate::{Broken, Part, must};

/// How many work at once.
const WORKERS: usize = 8;

/// How long they are left alone before one of them is killed.
const EVERY: Duration = Duration::from_secs(2);

/// After so many kills there is a doctor and a backup.
const CHECK_EVERY: u64 = 15;

/// What a log may have at most.
const LOG: u64 = 64 << 20;

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

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        let ground = bout.ground();
        let shared = open_shared(ground)?;
        let inbox = ground.inbox()?;
        let mut crew = Vec::new();
        let mut hired = 0;
        for _ in 0..WORKERS {
            crew.push(hire(ground, inbox.store(), shared, &mut hired)?);
        }
        let mut was_killed = 0;
        while let Some(mut round) = bout.next() {
            let until = Instant::now() + EVERY;
            while Instant::now() < until && !bout.is_stopped() {
                std::thread::sleep(Duration::from_millis(50));
                bout.peak("bytes of log", log_bytes(ground));
            }
            let place = usize::try_from(round.dice.below(WORKERS as u64)).unwrap_or(0);
            bout.peak("KB of memory each", peak_memory(crew[place].0.id()));
            let next = hire(ground, inbox.store(), shared, &mut hired)?;
            let (mut child, mut work, mut books) = std::mem::replace(&mut crew[place], next);
            must(child.try_wait()?.is_none(), || {
                format!("{} gave up", work.prefix)
            })?;
            child.kill()?;
            child.wait()?;
            heard(ground, &mut work)?;
            was_killed += 1;
            bout.count("kills", 1);
            bout.count("acknowledged", work.step);
            let own = format!("{}-", work.prefix);
            books.read(inbox.store(), &own)?;
            books.hold(&work)?;
            work.go_on(&inbox)?;
            books.read(inbox.store(), &own)?;
            books.hold(&work)?;
            if was_killed % CHECK_EVERY == 0 {
                ground.is_sound()?;
                if let Some(store) = ground.file() {
                    let copy = store.with_extension("copy");
                    let line = format!("backup --to {}", copy.display());
                    ground.run(&line)?.ok()?;
                    std::fs::remove_file(copy)?;
                }
                bout.count("checks", 1);
            }
        }
        must(log_bytes(ground) < LOG, || {
            "the log grew without bound".to_owned()
        })?;
        drop(crew);
        ground.is_sound()
    }
}

/// Somebody new, who says what is done into a file: it is more than a pipe holds.
fn hire(
    ground: &Ground<'_>,
    store: &Store,
    shared: ThreadId,
    hired: &mut u64,
) -> Result<(Leashed, Work, Books), Broken> {
    let books = Books::open(store)?;
    let work = Work::new(format!("s{hired}"), shared);
    *hired += 1;
    let said = std::fs::File::create(said_in(ground, &work))?;
    let child = writer_into(ground, &work, u64::MAX, said.into())?;
    Ok((child, work, books))
}

/// The file in which a worker says what is done.
pub(crate) fn said_in(ground: &Ground<'_>, work: &Work) -> PathBuf {
    ground.folder().join(format!("{}.said", work.prefix))
}

/// Goes to where a dead worker said that it was.
pub(crate) fn heard(ground: &Ground<'_>, work: &mut Work) -> Result<(), Broken> {
    let file = said_in(ground, work);
    let said = std::fs::read_to_string(&file)?;
    for line in said.split_inclusive('\n') {
        let _ = work.said(line);
    }
    std::fs::remove_file(file)?;
    Ok(())
}
