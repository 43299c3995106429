//! `migrate`: a store moves into another one, and a person sees how far it is.

use std::io::{IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command};
use inbox_core::text::visible;
use inbox_core::{Code, Refusal};
use inbox_ops::Page;
use inbox_store::{Location, Moved, Progress, private};
use serde_json::json;

use crate::cli::{Context, Ended, config, find};

/// What takes less than this shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often a bar is drawn again.
const EVERY: Duration = Duration::from_millis(100);

/// How long a bar is, in characters.
const LENGTH: i64 = 30;

pub(super) fn describe(command: Command) -> Command {
    let place = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name("PATH|URL")
            .required(true)
            .help(help)
    };
    command
        .about("Copy a store into an empty other one, SQLite or PostgreSQL, and compare them")
        .long_about(
            "Copy a store into an empty other one, SQLite or PostgreSQL, and compare them\n\nIds, leases, receipts, events and keys stay as they are. What is written to the source meanwhile is not copied. If it is killed, the same command goes on; until it has compared every row, nobody else can use the copy.",
        )
        .arg(place("from", "Copy this store"))
        .arg(place("to", "Into this one: new, empty, or the unfinished copy of the same store"))
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let place =
        |name: &str| match matches.get_one::<String>(name).map(String::as_str) {
            None | Some("") => Err(Refusal::input(format!("--{name} is empty"))
                .hint("pass a path or a postgres:// URL")),
            Some(text) => find::by_argument(&format!("--{name}"), text),
        };
    let (from, to) = (place("from")?, place("to")?);
    let mut bar = Bar::new();
    let mut archives = 0;
    let outcome =
        inbox_store::move_store(&from, &to, &mut |progress| bar.show(progress), &mut || {
            copy_archives(&from, &to).map(|count| archives = count)
        });
    bar.clear();
    print(context, [&from.named(), &to.named()], &outcome?, archives)
}

/// The largest archive that is copied, in bytes.
const MOST: u64 = 1 << 30;

/// Copies what `archive` moved to files beside the store, where the other one has another folder; how many.
fn copy_archives(from: &Location, to: &Location) -> Result<usize, Refusal> {
    let place = |location| config::folder(Some(location)).map(|folder| folder.join("archive"));
    let (Some(from), Some(to)) = (place(from), place(to)) else {
        return Ok(0);
    };
    let Ok(found) = std::fs::read_dir(&from) else {
        return Ok(0);
    };
    let is_same = from.canonicalize().ok() == to.canonicalize().ok();
    let files = found.flatten().map(|entry| entry.path());
    let archives = files.filter(|path| path.extension().is_some_and(|end| end == "jsonl"));
    let mut count = 0;
    for path in archives.filter(|_| !is_same) {
        let Some(name) = path.file_name() else {
            continue;
        };
        copy_file(&path, &to.join(name))?;
        count += 1;
    }
    Ok(count)
}

/// Copies a file so that a half-copied one never has its name. One that is there already must be the same.
fn copy_file(from: &Path, to: &Path) -> Result<(), Refusal> {
    let cannot = |error: std::io::Error| {
        Refusal::new(
            Code::Storage,
            format!(
                "{} cannot be copied to {}: {error}",
                from.display(),
                to.display()
            ),
        )
        .hint("inbox migrate goes on once it can be written")
    };
    let content = private::read_any(from, MOST).map_err(cannot)?;
    match private::read(to, MOST) {
        Ok(found) if found == content => return Ok(()),
        Ok(_) => {
            return Err(Refusal::new(
                Code::AlreadyExists,
                format!("{} is the archive of another store", to.display()),
            )
            .hint("inbox migrate needs a folder of its own for the copy: move that archive away, and run it again"));
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(cannot(error)),
    }
    let draft = to.with_extension(format!("new-{}", std::process::id()));
    let write = || {
        if let Some(folder) = to.parent() {
            private::make_folder(folder)?;
        }
        let _ = std::fs::remove_file(&draft);
        let mut file = private::file().write(true).create_new(true).open(&draft)?;
        file.write_all(&content)?;
        file.sync_all()?;
        std::fs::rename(&draft, to)
    };
    write().map_err(cannot)
}

fn print(
    context: &Context,
    [from, to]: [&str; 2],
    moved: &Moved,
    archives: usize,
) -> Result<Ended, Refusal> {
    if context.printer.is_json() {
        let body = json!({
            "from": from,
            "to": to,
            "rows": moved.rows,
            "archives": archives,
            "sha256": moved.sha256,
            "resumed": moved.resumed,
            "restarted": moved.restarted,
            "next_event_id": moved.next_event_id,
        });
        context.printer.object("migrate", true, &body)?;
        return Ok(Ended::Something);
    }
    let rows: i64 = moved.rows.values().sum();
    let count = |table: &str| moved.rows.get(table).copied().unwrap_or(0);
    let how = match (moved.resumed, moved.restarted) {
        (_, true) => ", begun again because the source has changed",
        (true, false) => ", gone on with",
        (false, false) => "",
    };
    let page = Page::default()
        .line(format!(
            "copied {} to {}{how}",
            visible(from, false),
            visible(to, false)
        ))
        .line(format!(
            "{rows} rows, every one compared: {} threads, {} events, {} receipts, {} agents",
            count("threads"),
            count("entries"),
            count("receipts"),
            count("agents"),
        ))
        .line(format!("sha256 {}", moved.sha256));
    context.printer.page(&page)?;
    Ok(Ended::Something)
}

/// A bar on a terminal, for work that takes its time.
struct Bar {
    since: Instant,
    drawn: Option<Instant>,
    is_shown: bool,
}

impl Bar {
    fn new() -> Self {
        Bar {
            since: Instant::now(),
            drawn: None,
            is_shown: std::io::stderr().is_terminal(),
        }
    }

    fn show(&mut self, progress: Progress) {
        if !self.is_shown
            || self.since.elapsed() < PATIENCE
            || self.drawn.is_some_and(|at| at.elapsed() < EVERY)
        {
            return;
        }
        self.drawn = Some(Instant::now());
        // A terminal that is gone needs no bar.
        let _ = write!(std::io::stderr(), "\r\x1b[2K{}", line(progress));
    }

    fn clear(&mut self) {
        if self.drawn.take().is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[2K");
        }
    }
}

fn line(progress: Progress) -> String {
    let Progress { done, total, .. } = progress;
    let share = |of: i64| done.saturating_mul(of) / total.max(1);
    let full = usize::try_from(share(LENGTH).clamp(0, LENGTH)).unwrap_or(0);
    let rest = usize::try_from(LENGTH).unwrap_or(0) - full;
    let what = if progress.is_comparing {
        "comparing"
    } else {
        "copying"
    };
    format!(
        "[{}{}] {:3}% {what} {}",
        "=".repeat(full),
        " ".repeat(rest),
        share(100),
        progress.table
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_as_long_at_the_start_as_at_the_end() {
        let at = |done, total| {
            line(Progress {
                table: "entries",
                is_comparing: false,
                done,
                total,
            })
        };
        assert_eq!(
            at(0, 0),
            format!("[{}]   0% copying entries", " ".repeat(30))
        );
        assert_eq!(
            at(5, 10),
            format!(
                "[{}{}]  50% copying entries",
                "=".repeat(15),
                " ".repeat(15)
            )
        );
        assert_eq!(
            at(10, 10),
            format!("[{}] 100% copying entries", "=".repeat(30))
        );
    }
}
