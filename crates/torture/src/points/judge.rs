//! What must be there of an operation that died, and after it was tried again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use inbox_store::{FailPoint, Store};

use super::cases::{Case, Way};
use super::line::{Line, fill};
use super::{OF_LOG, dies};
use crate::child::eventually;
use crate::ground::Ground;
use crate::races::first;
use crate::zombies::changed;
use crate::{Broken, must};

/// How many rows tables have.
type Counts = BTreeMap<String, i64>;

/// How many rows there are in each table of a dump.
pub(super) fn counts(rows: &[String]) -> Counts {
    let mut counts = Counts::new();
    for row in rows {
        let table = row.split(':').next().unwrap_or_default();
        // What SQLite keeps for itself.
        if !table.starts_with("sqlite_") {
            *counts.entry(table.to_owned()).or_default() += 1;
        }
    }
    counts
}

/// What has come in which table.
fn growth(before: &[String], after: &[String]) -> Counts {
    let (before, after) = (&counts(before), &counts(after));
    let tables = before.keys().chain(after.keys());
    let of = |counts: &Counts, table: &String| counts.get(table).copied().unwrap_or(0);
    tables
        .map(|table| (table.clone(), of(after, table) - of(before, table)))
        .filter(|(_, grown)| *grown != 0)
        .collect()
}

/// One death of an operation: what it was, and the store before.
struct Death<'a> {
    what: String,
    line: Line,
    point: FailPoint,
    before: &'a [String],
    /// What the operation leaves behind when nobody disturbs it.
    clean: &'a Counts,
}

impl Death<'_> {
    /// Whether the only commit was over.
    fn is_committed(&self) -> bool {
        self.point as u32 > FailPoint::BeforeCommit as u32
    }

    fn must_leave(&self, what: &str, after: &[String]) -> Result<(), Broken> {
        let (clean, grown) = (self.clean, growth(self.before, after));
        must(grown == *clean, || {
            format!(
                "{}{what} must leave {clean:?} behind, and left {grown:?}",
                self.what
            )
        })
    }

    /// That there is all of one commit or nothing of it.
    fn is_whole_or_absent(&self, left: &[String]) -> Result<(), Broken> {
        if self.is_committed() {
            return self.must_leave("", left);
        }
        must(left == self.before, || {
            format!("{}: {}", self.what, changed(self.before, left))
        })
    }
}

/// Runs a case undisturbed, and then once for each of its deaths.
pub(super) fn all_points(ground: &Ground<'_>, case: &Case) -> Result<(), Broken> {
    let undisturbed = |n| {
        let line = fill(ground, case, n)?;
        let before = ground.dump()?;
        let line = match case.way {
            // A wait that renews a lease goes on and on; what it does on the way is this.
            Way::InAWait => line.instead("renew"),
            _ => line,
        };
        let answer = line.run(ground)?.ok()?;
        Ok::<_, Broken>((answer, growth(&before, &ground.dump()?), line))
    };
    // The first one also makes what later ones share.
    let (answer, ..) = undisturbed(0)?;
    let (_, clean, line) = undisturbed(1)?;
    let files = Files::of(&answer);
    let whole = files.about(&line.thread)?;
    must(
        case.way != Way::ToFiles || whole.messages * whole.events > 0,
        || format!("{} has moved nothing: {answer}", case.operation),
    )?;
    let store = ground.store()?;
    for (n, at) in (2..).zip(case.deaths(ground.is_served())) {
        let (point, time) = at;
        let line = fill(ground, case, n)?;
        if OF_LOG.contains(&point) {
            fill_the_log(ground)?;
        }
        let before = store.dump()?;
        let death = Death {
            what: format!("{} that dies at {point:?}, time {time},", case.operation),
            line,
            point,
            before: &before,
            clean: &clean,
        };
        dies(death.line.command(ground), &death.what, at)?;
        if ground.is_served() {
            is_let_go(&store)?;
        }
        let left = store.dump()?;
        match case.way {
            Way::AtOnce => {
                death.is_whole_or_absent(&left)?;
                if case.is_keyed {
                    tried_again(ground, &death, &left)?;
                }
            }
            Way::InAWait => {
                death.is_whole_or_absent(&left)?;
                // Who holds it holds it still.
                death.line.instead("renew").run(ground)?.ok()?;
            }
            Way::ToFiles => {
                // Nothing goes before the first commit.
                if time == 1 && !death.is_committed() {
                    death.is_whole_or_absent(&left)?;
                }
                is_somewhere(&death, &left, files.about(&death.line.thread)?, whole)?;
                death.line.run(ground)?.ok()?;
                death.must_leave(" and is run again", &store.dump()?)?;
                let there = files.about(&death.line.thread)?;
                must(there == whole, || {
                    format!(
                        "{} and is run again must write {whole:?}, and wrote {there:?}",
                        death.what
                    )
                })?;
            }
        }
    }
    Ok(())
}

/// Waits until a server has noticed that a client died: what that one had taken is passed over until then, as by who claims what comes next.
fn is_let_go(store: &Store) -> Result<(), Broken> {
    const TAKEN: &str = "SELECT count(*) FROM pg_locks WHERE pid <> pg_backend_pid() AND relation = 'threads'::regclass";
    eventually("a server lets go of what a dead client had taken", || {
        let taken = store.look(TAKEN).map(|rows| first(&rows));
        (!matches!(taken, Ok(1..))).then_some(taken)
    })??;
    Ok(())
}

/// Tries one that died again with its key, and once more.
fn tried_again(ground: &Ground<'_>, death: &Death<'_>, left: &[String]) -> Result<(), Broken> {
    let what = &death.what;
    let first = death.line.run(ground)?.ok()?;
    let repeated = ground.dump()?;
    death.must_leave(" and is tried again", &repeated)?;
    // What was committed is whole: a retry tells of it, and changes no row.
    must(!death.is_committed() || repeated == left, || {
        format!("{what} and is tried again: {}", changed(left, &repeated))
    })?;
    let second = death.line.run(ground)?.ok()?;
    must(first == second, || {
        format!("{what}: a retry answered {second}, and before {first}")
    })?;
    let thrice = ground.dump()?;
    must(thrice == repeated, || {
        format!("{what} and is tried twice: {}", changed(&repeated, &thrice))
    })
}

/// The files that an archive writes, where a case has some.
struct Files(Option<PathBuf>);

/// How many lines of files are about a thread: of its messages and of its events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Lines {
    messages: usize,
    events: usize,
}

impl Files {
    fn of(answer: &serde_json::Value) -> Self {
        let first = answer.pointer("/files/0").and_then(|path| path.as_str());
        Files(first.and_then(|path| Path::new(path).parent().map(Path::to_owned)))
    }

    fn about(&self, thread: &str) -> Result<Lines, Broken> {
        let mut lines = Lines {
            messages: 0,
            events: 0,
        };
        let Some(folder) = &self.0 else {
            return Ok(lines);
        };
        let named = format!("\"thread_id\":\"{thread}\"");
        for entry in std::fs::read_dir(folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|end| end != "jsonl") {
                continue;
            }
            let text = std::fs::read_to_string(&path)?;
            let count = text.lines().filter(|line| line.contains(&named)).count();
            if path.to_string_lossy().ends_with("-events.jsonl") {
                lines.events += count;
            } else {
                lines.messages += count;
            }
        }
        Ok(lines)
    }
}

/// That a thread which was to move is in the rows, or whole in the files.
fn is_somewhere(
    death: &Death<'_>,
    left: &[String],
    there: Lines,
    whole: Lines,
) -> Result<(), Broken> {
    let threads = |rows| counts(rows).get("threads").copied().unwrap_or(0);
    let is_here = threads(left) == threads(death.before);
    must(is_here || there == whole, || {
        let (what, thread) = (&death.what, &death.line.thread);
        format!(
            "{what} has taken {thread} out of the store, and of {whole:?} the files have {there:?}"
        )
    })
}

/// Makes the log longer than what a commit leaves alone: while somebody reads, it cannot be moved.
fn fill_the_log(ground: &Ground<'_>) -> Result<(), Broken> {
    let store = ground.store()?;
    let body = "x".repeat(400_000);
    std::fs::write(ground.folder().join("long.txt"), &body)?;
    let filled = store.read(|tx| {
        tx.newest_event()?;
        // What was read stays as it is while another process writes.
        let line = "send --from lead --to nobody --subject long --body-file long.txt";
        Ok(ground.run(line).and_then(|sent| sent.ok()))
    })?;
    filled?;
    let log = crate::crowd::log_bytes(ground);
    must(log > 64 * 4120, || format!("the log has only {log} bytes"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_that_is_neither_in_the_rows_nor_whole_in_the_files_is_lost() {
        let row = |text: &str| vec!["meta: 1".to_owned(), text.to_owned()];
        let (here, gone) = (row("threads: 1"), row("entries: 1"));
        let clean = Counts::new();
        let death = Death {
            what: "archive".to_owned(),
            line: Line::default(),
            point: FailPoint::ArchiveMidst,
            before: &here,
            clean: &clean,
        };
        let lines = |messages, events| Lines { messages, events };
        let whole = lines(2, 2);
        for half in [lines(0, 0), lines(2, 0), lines(2, 1), lines(4, 2)] {
            assert_eq!(is_somewhere(&death, &here, half, whole), Ok(()));
            let lost = is_somewhere(&death, &gone, half, whole).unwrap_err();
            assert_eq!(lost.sort, crate::Sort::Promise);
        }
        assert_eq!(is_somewhere(&death, &gone, whole, whole), Ok(()));
    }
}
