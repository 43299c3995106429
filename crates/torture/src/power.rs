//! A loss of power at any moment: all that real processes ask of the disk is recorded, and disks are built as the loss
//! may leave them, each of which must have what was acknowledged, whole.

mod image;
mod judge;
mod record;

use std::path::{Path, PathBuf};

pub use image::{Image, Kept};
pub use judge::Judge;
pub use record::{Promise, Record};

use crate::bout::Bout;
use crate::child::words;
use crate::dice::Dice;
use crate::ground::Ground;
use crate::{Broken, Part, trace};

/// How many disks are judged in a round.
const IMAGES: u64 = 250;

/// How many commands run in a round, besides those that make a store and a copy of it.
const COMMANDS: u64 = 14;

/// What a command ends with that finds nothing.
const NOTHING: i32 = 10;

/// The part.
pub struct Power;

impl Part for Power {
    fn name(&self) -> &'static str {
        "power"
    }

    fn promise(&self) -> &'static str {
        "what was acknowledged survives a loss of power, and nothing is half there"
    }

    fn applies(&self, ground: &Ground<'_>) -> Result<(), String> {
        if ground.is_served() {
            return Err("PostgreSQL's disk is its server's matter".into());
        }
        trace::permitted()
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        let ground = bout.ground();
        while let Some(mut round) = bout.next() {
            let folder = ground.folder().join("traced");
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir(&folder)?;
            let folder = folder.canonicalize()?;
            let mut story = Story::new(ground, &folder)?;
            story.tell(round.number, &mut round.dice)?;
            bout.count(
                "commands",
                u64::try_from(story.record.told.len()).unwrap_or(0),
            );
            bout.count("acts", u64::try_from(story.record.len()).unwrap_or(0));
            let mut judge = Judge::new(&story.record, &story.store, &ground.folder().join("disk"))?;
            let is_over = || bout.is_late() || bout.is_stopped();
            let judged = judge_some(&mut judge, &story.record, IMAGES, &mut round.dice, &is_over);
            bout.count("images", judged?);
        }
        Ok(())
    }
}

/// Judges so many different disks of a record, or as many as there are and there is time for. How many.
pub fn judge_some(
    judge: &mut Judge<'_>,
    record: &Record,
    images: u64,
    dice: &mut Dice,
    is_over: &dyn Fn() -> bool,
) -> Result<u64, Broken> {
    let mut judged = 0;
    // What is lost just after somebody was told is what a program that syncs too late loses.
    for (said, _) in &record.told {
        judged += u64::from(judge.hold(said + 1, Kept::Nothing, dice)?);
    }
    let acts = u64::try_from(record.len()).unwrap_or(u64::MAX);
    for _ in 0..20 * images {
        if judged >= images || is_over() {
            break;
        }
        let at = usize::try_from(dice.below(acts + 1)).unwrap_or_default();
        let how = dice.pick(&Kept::ALL).copied().unwrap_or(Kept::Nothing);
        judged += u64::from(judge.hold(at, how, dice)?);
    }
    Ok(judged)
}

/// Commands on a store of their own, from the first on recorded.
struct Story<'a> {
    ground: &'a Ground<'a>,
    record: Record,
    folder: PathBuf,
    store: PathBuf,
    /// Threads that nobody holds, and those that somebody holds with the token.
    free: Vec<String>,
    held: Vec<(String, String)>,
}

impl<'a> Story<'a> {
    fn new(ground: &'a Ground<'a>, folder: &Path) -> Result<Self, Broken> {
        Ok(Story {
            ground,
            record: Record::of(folder)?,
            // A folder that is made with the store must survive as well.
            store: folder.join("made/store.db"),
            folder: folder.to_owned(),
            free: Vec::new(),
            held: Vec::new(),
        })
    }

    fn run(&mut self, line: &str, promise: Promise) -> Result<serde_json::Value, Broken> {
        let mut command = self.ground.command(words(line));
        command.env("INBOX_DB", &self.store);
        let outcome = self.record.run(&command, promise)?;
        // To find nothing is an answer.
        if outcome.code == NOTHING {
            return outcome.json();
        }
        outcome.ok()
    }

    fn tell(&mut self, round: u64, dice: &mut Dice) -> Result<(), Broken> {
        self.run("init", Promise::Store)?;
        let (copied, archived) = (dice.below(COMMANDS), COMMANDS - 1 - dice.below(4));
        for n in 0..COMMANDS {
            let mark = format!("mark-{round}-{n}.");
            self.one(&mark, dice)?;
            if n == copied {
                let copy = self.folder.join("copy.db");
                let line = format!(
                    "backup --to {}",
                    copy.display().to_string().replace(' ', "~")
                );
                self.run(&line, Promise::Copy(copy))?;
            }
            if n == archived {
                // What is done moves to files beside the store, and is nowhere else from then on.
                self.finish_one(&format!("done-{mark}"))?;
                self.run("archive --keep 0", Promise::Nothing)?;
            }
        }
        Ok(())
    }

    /// Opens a thread and sees it through.
    fn finish_one(&mut self, mark: &str) -> Result<(), Broken> {
        let sent = self.run(
            &format!("send --from lead --to worker --subject {mark}"),
            Promise::Text(mark.to_owned()),
        )?;
        let thread = sent["thread"]["thread_id"].as_str().unwrap_or_default();
        for step in ["claim --agent worker", "done --agent worker --summary so"] {
            self.run(&format!("{step} --thread {thread}"), Promise::Nothing)?;
        }
        Ok(())
    }

    /// One write with a mark of its own.
    fn one(&mut self, mark: &str, dice: &mut Dice) -> Result<(), Broken> {
        let text = Promise::Text(mark.to_owned());
        let some = |text: &str, many: u64| text.repeat(usize::try_from(many).unwrap_or(1));
        let choice = dice.below(6);
        match (choice, self.free.last().cloned(), self.held.last().cloned()) {
            (0, Some(thread), _) => {
                let line = format!("claim --agent worker --thread {thread}");
                let leased = self.run(&line, Promise::Nothing)?;
                let token = leased["lease"]["lease_token"].as_str().unwrap_or_default();
                self.free.pop();
                self.held.push((thread, token.to_owned()));
            }
            (1, _, Some((thread, token))) => {
                let line = format!("update --lease {token} --thread {thread} --summary {mark}");
                self.run(&line, text)?;
            }
            (2, _, Some((thread, token))) => {
                let line = format!("done --lease {token} --thread {thread} --summary {mark}");
                self.run(&line, text)?;
                self.held.pop();
            }
            (3, Some(thread), _) => {
                let body = some("word~", 1 + dice.below(1000));
                let line =
                    format!("reply --from lead --thread {thread} --summary {mark} --body {body}");
                self.run(&line, text)?;
            }
            (4, _, _) => {
                self.run("read --agent worker", Promise::Nothing)?;
            }
            _ => {
                // Some of it in many pages.
                let body = some("long~text~", 1 + dice.below(6) * dice.below(1500));
                let line = format!("send --from lead --to worker --subject {mark} --body {body}");
                let sent = self.run(&line, text)?;
                let thread = sent["thread"]["thread_id"].as_str().unwrap_or_default();
                self.free.push(thread.to_owned());
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
