//! Damaged stores: cut, with bits that flipped, with pages in each other's place. Whoever asks them is told of the damage or
//! gets an answer, never a panic, a wait without end, or nothing at all as if there were nothing.

mod image;

use std::collections::HashSet;
use std::path::Path;
use std::sync::mpsc::channel;

use inbox_core::Refusal;
use inbox_ops::{Fetch, List, Operation, Send, Show};
use inbox_store::{Location, Store};
use serde_json::Value;

use image::{Image, remove};

use crate::bout::Bout;
use crate::child::{Outcome, received};
use crate::dice::Dice;
use crate::ground::{self, Ground, caller};
use crate::{Broken, Part, must};

/// How many images of a round are asked within this process, which is cheap, and how many by the program.
const WITHIN: u64 = 20;
const BY_PROGRAM: u64 = 2;

/// What a command ends with that finds a store damaged.
const STORAGE: i32 = 50;

/// What the store has: threads, of which the first has a reply and an artifact.
const STORY: [&str; 4] = [
    "send --from lead --to w --subject One",
    "send --from lead --to w --subject Two",
    "send --from lead --to w --subject Three",
    "reply --from w --thread thr_1 --summary Yes --artifact a.md",
];

/// What the program is asked, and what of the answer cannot be empty.
const ASKED: [(&str, Option<&str>); 5] = [
    ("list", Some("threads")),
    ("fetch --agent w", Some("threads")),
    ("show --thread thr_1", Some("messages")),
    ("doctor", None),
    ("send --from lead --to w --subject After", None),
];

/// The part.
pub struct Damage;

impl Part for Damage {
    fn name(&self) -> &'static str {
        "damage"
    }

    fn promise(&self) -> &'static str {
        "a damaged store is told of, and never looks empty"
    }

    fn applies(&self, ground: &Ground<'_>) -> Result<(), String> {
        if ground.is_served() {
            return Err("PostgreSQL's files are its server's matter".into());
        }
        Ok(())
    }

    fn makes_limits(&self) -> bool {
        true
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        let ground = bout.ground();
        let originals = originals(ground)?;
        let store = ground.folder().join("image.db");
        let mut known = HashSet::new();
        while let Some(mut round) = bout.next() {
            for n in 0..WITHIN + BY_PROGRAM {
                if n > 0 && (bout.is_late() || bout.is_stopped()) {
                    break;
                }
                let image = another(&originals, &mut round.dice)?;
                remove(&store);
                image.write(&store)?;
                let told = if n < WITHIN {
                    within(&store)
                } else {
                    by_program(ground, &store)
                };
                let told =
                    told.map_err(|broken| broken.told(|what| format!("{}: {what}", image.name)))?;
                bout.count("images", u64::from(known.insert(image.name)));
                bout.count("of them told of", u64::from(told));
                bout.count("asked by the program", u64::from(n >= WITHIN));
            }
        }
        Ok(())
    }
}

/// A store whose threads are in its file, and one whose threads are still in its log.
fn originals(ground: &Ground<'_>) -> Result<[Image; 2], Broken> {
    for line in STORY {
        ground.run(line)?.ok()?;
    }
    let store = ground
        .file()
        .ok_or_else(|| Broken::new("there is a file"))?;
    let in_log = Image::of(store, "in the log")?;
    must(in_log.first_commit().is_some(), || {
        "what was written has to be in the log".to_owned()
    })?;
    ground.run("backup --to copy.db")?.ok()?;
    let in_file = Image::of(&ground.folder().join("copy.db"), "in the file")?;
    Ok([in_file, in_log])
}

/// The next image that is another than its original. More of them in the file, where there are more ways.
fn another(originals: &[Image; 2], dice: &mut Dice) -> Result<Image, Broken> {
    for _ in 0..100 {
        let base = &originals[usize::from(dice.below(6) == 0)];
        let image = base.damaged(dice);
        if !image.is_same(base) {
            return Ok(image);
        }
    }
    Err(Broken::new("the dice find nothing to damage"))
}

/// Asks within this process. Whether somebody was told of the damage.
fn within(store: &Path) -> Result<bool, Broken> {
    let (say, said) = channel();
    let store = store.to_owned();
    // Apart: one that hangs cannot be ended, and is left behind.
    std::thread::spawn(move || {
        let _ = say.send(ask(&store));
    });
    match received(&said) {
        Ok(told) => told,
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => Err(Broken::new("it hangs")),
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => Err(Broken::new("it panicked")),
    }
}

fn ask(store: &Path) -> Result<bool, Broken> {
    let mut told = Told(false);
    let opened = Store::open(&Location::File(store.to_owned()));
    let Some(store) = told.answer(opened.map_err(Refusal::from))? else {
        return Ok(true);
    };
    let inbox = ground::inbox(store);
    let worker = caller("w")?;
    if let Some(listed) = told.answer(List::default().run(&inbox, &worker))? {
        is_something("list", listed.threads.len())?;
    }
    if let Some(fetched) = told.answer(Fetch::default().run(&inbox, &worker))? {
        is_something("fetch", fetched.threads.len())?;
    }
    let show = Show::of("thr_1".parse()?);
    if let Some(shown) = told.answer(show.run(&inbox, &worker))? {
        is_something("show", shown.messages.len())?;
    }
    let send = Send {
        to: vec!["w".parse()?],
        subject: Some("After".into()),
        ..Send::default()
    };
    told.answer(send.run(&inbox, &worker))?;
    let checked = inbox.store().check();
    let problems = told.answer(checked.map_err(Refusal::from))?;
    Ok(told.0 || problems.is_some_and(|problems| !problems.is_empty()))
}

/// Whether the damage was told of.
struct Told(bool);

impl Told {
    /// What was answered, or nothing when the damage was told of; no other refusal will do.
    fn answer<T>(&mut self, answer: Result<T, Refusal>) -> Result<Option<T>, Broken> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(refusal) if i32::from(refusal.code.exit()) == STORAGE => {
                self.0 = true;
                Ok(None)
            }
            Err(refusal) => Err(Broken::new(format!("it is refused as if sound: {refusal}"))),
        }
    }
}

fn is_something(what: &str, found: usize) -> Result<(), Broken> {
    must(found > 0, || format!("{what} finds nothing, and says so"))
}

/// Asks by the program. Whether somebody was told of the damage.
fn by_program(ground: &Ground<'_>, store: &Path) -> Result<bool, Broken> {
    let mut is_told = false;
    for (line, found) in ASKED {
        let mut command = ground.command(crate::child::words(line));
        command.env("INBOX_DB", store);
        let outcome = crate::child::ends(crate::child::Leashed(command.spawn()?))?;
        is_told |= judge(&outcome, found).map_err(|why| format!("{line}: {why}: {outcome}"))?;
    }
    Ok(is_told)
}

/// Whether an outcome tells of the damage; what is wrong with it, if something is.
fn judge(outcome: &Outcome, found: Option<&str>) -> Result<bool, &'static str> {
    if outcome.stderr.contains("panicked") {
        return Err("it panicked");
    }
    let answer: Value = serde_json::from_str(&outcome.stdout).map_err(|_| "it is no JSON")?;
    let is_empty = |key: &str| answer[key].as_array().is_none_or(Vec::is_empty);
    match outcome.code {
        STORAGE if answer["ok"] == false => Ok(true),
        STORAGE => Err("an error that says ok"),
        0 if found.is_some_and(is_empty) => Err("an empty success"),
        0 => Ok(false),
        _ => Err("it neither works nor tells of the damage"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(code: i32, stdout: &str, stderr: &str) -> Outcome {
        let (stdout, stderr) = (stdout.to_owned(), stderr.to_owned());
        Outcome {
            code,
            stdout,
            stderr,
        }
    }

    #[test]
    fn an_answer_about_a_damaged_store_is_something_or_tells_of_the_damage() {
        let judged = |code, stdout: &str, stderr: &str| {
            judge(&outcome(code, stdout, stderr), Some("threads"))
        };
        assert_eq!(judged(0, r#"{"threads":[1]}"#, ""), Ok(false));
        assert_eq!(judged(50, r#"{"ok":false}"#, ""), Ok(true));
        for (code, stdout, stderr) in [
            (0, r#"{"threads":[]}"#, ""),
            (0, "{}", ""),
            (0, "", ""),
            (0, r#"{"threads":[1]}"#, "thread 'main' panicked at"),
            (10, r#"{"ok":false}"#, ""),
            (50, r#"{"ok":true}"#, ""),
            (-1, r#"{"ok":false}"#, ""),
        ] {
            judged(code, stdout, stderr).expect_err(stdout);
        }
        // Where nothing must be found, nothing may be.
        assert_eq!(judge(&outcome(0, "{}", ""), None), Ok(false));
    }
}
