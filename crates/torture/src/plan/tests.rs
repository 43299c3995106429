use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use super::*;
use crate::must;

type Run = Box<dyn Fn(&mut Bout<'_>) -> Result<(), Broken> + Sync>;

/// A part that does one thing in its first round.
struct Fake(Run);

impl Part for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn promise(&self) -> &'static str {
        "it is there"
    }

    fn run(&self, bout: &mut Bout<'_>) -> Result<(), Broken> {
        while bout.next().is_some() {
            self.0(bout)?;
        }
        Ok(())
    }
}

/// A folder with something that passes for the program: it keeps nothing and makes no store.
struct Stage(PathBuf);

impl Stage {
    fn new(name: &str) -> Self {
        let own = format!("inbox-plan-{}-{name}", std::process::id());
        let folder = std::env::temp_dir().join(own);
        std::fs::create_dir_all(&folder).unwrap();
        let script = "case $1 in __torture-keeper) echo 0; read -r done ;; *) echo '{}' ;; esac";
        // Written by another process: a file that this one has open for writing could not be run.
        let written = Command::new("/bin/sh")
            .args([
                "-c",
                "printf '#!/bin/sh\n%s\n' \"$1\" >program",
                "sh",
                script,
            ])
            .current_dir(&folder)
            .status();
        assert!(written.unwrap().success());
        let program = folder.join("program");
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o700)).unwrap();
        Stage(folder)
    }

    /// What becomes of a part that does this in its first round.
    fn row(
        &self,
        run: impl Fn(&mut Bout<'_>) -> Result<(), Broken> + Sync + 'static,
        since: impl FnOnce() -> Before,
    ) -> Row {
        let mut plan = plan(&self.0.join("coord.db").display().to_string());
        plan.tools.program = self.0.join("program");
        let scratch = Scratch::beside(&plan.beside, "f4ce", &plan.tools.program).unwrap();
        let ground = Ground::make(&scratch, &plan.tools, "fake").unwrap();
        let part: &'static Fake = Box::leak(Box::new(Fake(Box::new(run))));
        let (stop, mut told) = (AtomicBool::new(false), |_: &str| {});
        let amount = Amount::Rounds(1);
        let bout = Bout::new(&ground, "fake", 5, amount, &stop, &mut told);
        tried(&plan, part, bout, &since())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn lost(_: &mut Bout<'_>) -> Result<(), Broken> {
    must(false, || "r1-0-3 was acknowledged and is gone".to_owned())
}

fn refused(_: &mut Bout<'_>) -> Result<(), Broken> {
    Err(std::io::Error::from(rustix::io::Errno::IO))?
}

#[test]
fn a_lost_write_is_broken_whatever_the_machine_ran_out_of_meanwhile() {
    let row = Stage::new("lost").row(lost, Before::one_kill_ago);
    assert_eq!(row.verdict, Verdict::Broken, "{row:?}");
    assert_eq!(
        row.why.as_deref(),
        Some("r1-0-3 was acknowledged and is gone")
    );
    // Words of a limit in what was read make none of it.
    let words = |_: &mut Bout<'_>| must(false, || "lost: No space left on device".to_owned());
    let row = Stage::new("words").row(words, Before::now);
    assert_eq!(row.verdict, Verdict::Broken, "{row:?}");
}

#[test]
fn what_could_not_do_its_work_while_the_machine_ran_out_of_something_says_nothing() {
    let stage = Stage::new("work");
    let row = stage.row(refused, Before::one_kill_ago);
    assert_eq!(row.verdict, Verdict::Unable, "{row:?}");
    assert!(row.why.unwrap().contains("ran out of memory"));
    assert!(row.replay.is_some(), "its store is kept");
    let row = stage.row(refused, Before::now);
    assert_eq!(row.verdict, Verdict::Broken, "{row:?}");
    let full = |_: &mut Bout<'_>| Err(std::io::Error::from(rustix::io::Errno::NOSPC))?;
    let row = stage.row(full, Before::now);
    assert_eq!(row.verdict, Verdict::Unable, "{row:?}");
}

#[test]
fn a_folder_that_is_gone_shows_nothing_of_what_was_in_it() {
    let gone = |bout: &mut Bout<'_>| {
        std::fs::remove_dir_all(bout.ground().folder())?;
        must(false, || "the store is empty".to_owned())
    };
    let row = Stage::new("gone").row(gone, Before::now);
    assert_eq!(row.verdict, Verdict::Unable, "{row:?}");
}

#[test]
fn what_did_not_come_about_is_unable_and_a_panic_is_a_fault() {
    let stage = Stage::new("other");
    let nothing = |_: &mut Bout<'_>| Err(Broken::unable("the kills fell beside the writes"));
    let row = stage.row(nothing, Before::one_kill_ago);
    assert_eq!(row.verdict, Verdict::Unable, "{row:?}");
    assert_eq!(row.why.as_deref(), Some("the kills fell beside the writes"));
    let row = stage.row(|_| panic!("no luck"), Before::now);
    assert_eq!(row.verdict, Verdict::Fault, "{row:?}");
    let row = stage.row(|_| Ok(()), Before::one_kill_ago);
    assert_eq!((row.verdict, row.rounds), (Verdict::Held, 1));
    assert_eq!(row.replay, None);
}

fn plan(beside: &str) -> Plan {
    Plan {
        beside: Location::parse(beside),
        only: Vec::new(),
        asked: Asked::Rounds(1),
        seed: 5,
        keep: false,
        tools: Tools {
            program: "inbox".into(),
            wait: |_, _, _, _| Err(Refusal::input("nobody waits")),
        },
    }
}

#[test]
fn the_command_that_shows_a_round_again_can_be_copied_and_holds_no_password() {
    let replay = |beside: &str| plan(beside).replay("kills", 3);
    let rest = "--seed 5 --only kills --round 3";
    assert_eq!(
        replay("/my store/it's.db"),
        format!(r"inbox torture --db '/my store/it'\''s.db' {rest}")
    );
    assert_eq!(
        replay("/store.db"),
        format!("inbox torture --db /store.db {rest}")
    );
    let url = "postgres://me@h/d?sslmode=verify-full&sslrootcert=ca.crt&schema=mine";
    assert_eq!(replay(url), format!("inbox torture --db '{url}' {rest}"));
    assert_eq!(
        replay("postgres://me:secret@h/d"),
        format!("inbox torture {rest}")
    );
}

#[test]
fn a_part_that_is_named_twice_is_tried_once() {
    let mut plan = plan("/store.db");
    plan.only = vec!["clock".into(), "kills".into(), "clock".into()];
    let names: Vec<_> = plan
        .parts()
        .unwrap()
        .iter()
        .map(|part| part.name())
        .collect();
    assert_eq!(names, ["kills", "clock"]);
}
