//! The commands around a whole store that are let die: what makes one, copies it, and moves it into another.

use inbox_store::FailPoint;
use inbox_store::sql::MIGRATIONS;
use serde_json::Value;

use super::judge::counts;
use super::{At, dies};
use crate::child::{Leashed, Outcome, ends};
use crate::ground::Ground;
use crate::{Broken, must};

/// A command around a whole store.
#[derive(Debug)]
pub struct Deed {
    /// The command, by its name.
    pub name: &'static str,
    /// Where it dies, and the how manieth time it comes there.
    pub deaths: &'static [At],
    /// Lets it die at each of these.
    pub(super) play: Play,
}

type Play = fn(&Ground<'_>, &[At]) -> Result<(), Broken>;

/// The step of the schema that comes last.
#[expect(
    clippy::cast_possible_truncation,
    reason = "a constant needs a cast, and there are not so many steps"
)]
const LAST: u32 = MIGRATIONS.len() as u32;

/// What makes, copies and moves a store. That older ones are brought up to date needs one: the program has none, and its tests do
/// (`fire::upgrade`).
pub const DEEDS: &[Deed] = &[
    Deed {
        name: "init",
        deaths: &[
            (FailPoint::InitFile, 1),
            (FailPoint::BeforeLock, 1),
            (FailPoint::AfterBegin, 1),
            (FailPoint::BeforeMigration, 1),
            (FailPoint::BeforeCommit, 1),
            (FailPoint::AfterCommit, 1),
            (FailPoint::AfterMigration, 1),
            (FailPoint::BeforeMigration, LAST),
            (FailPoint::AfterMigration, LAST),
            // All steps together are long enough for the log to be moved once.
            (FailPoint::BeforeCheckpoint, 1),
            (FailPoint::AfterCheckpoint, 1),
            (FailPoint::InitBeforeName, 1),
            (FailPoint::InitAfterName, 1),
        ],
        play: init,
    },
    Deed {
        name: "backup",
        deaths: &[
            (FailPoint::BackupBeforeName, 1),
            (FailPoint::BackupAfterName, 1),
        ],
        play: backup,
    },
    Deed {
        name: "migrate",
        deaths: &[
            (FailPoint::MoveBeforeCommit, 1),
            (FailPoint::MoveAfterCommit, 1),
            (FailPoint::MoveBeforeCommit, 9),
            (FailPoint::MoveAfterCommit, 9),
            (FailPoint::MoveBeforeEnd, 1),
            (FailPoint::MoveAfterEnd, 1),
        ],
        play: migrate,
    },
];

/// A new store has its name when it is whole, and not before; the next one makes it if it is not there.
fn init(ground: &Ground<'_>, deaths: &[At]) -> Result<(), Broken> {
    let undisturbed = ground.another("whole")?;
    let whole = counts(&undisturbed.dump()?);
    undisturbed.remove();
    for (n, &at) in deaths.iter().enumerate() {
        let (point, time) = at;
        let what = format!("init that dies at {point:?}, time {time},");
        let own = ground.bare(&n.to_string())?;
        dies(own.command(["init", "--json"]), &what, at)?;
        let is_named = point == FailPoint::InitAfterName;
        let is_there = own.file().is_some_and(std::path::Path::exists);
        must(is_there == is_named, || {
            format!("{what} has given a store its name: {is_there}")
        })?;
        let made = own.run("init")?.ok()?;
        must(made["created"] == !is_named, || {
            format!("{what} and is run again: {made}")
        })?;
        let found = counts(&own.dump()?);
        must(found == whole, || {
            format!("{what} and is run again must make {whole:?}, and made {found:?}")
        })?;
        own.is_sound()?;
        own.remove();
    }
    Ok(())
}

/// A copy has its name when it has all that there is, and not before.
fn backup(ground: &Ground<'_>, deaths: &[At]) -> Result<(), Broken> {
    let all = ground.dump()?;
    for (n, &at) in deaths.iter().enumerate() {
        let what = format!("backup that dies at {:?}", at.0);
        let own = ground.bare(&n.to_string())?;
        let Some(copy) = own.file() else { continue };
        let command = || {
            let mut command = ground.command(["backup", "--json", "--to"]);
            command.arg(copy);
            command
        };
        dies(command(), &what, at)?;
        let is_named = at.0 == FailPoint::BackupAfterName;
        must(copy.exists() == is_named, || {
            format!("{what} has given a copy its name: {}", copy.exists())
        })?;
        if !is_named {
            ends(Leashed(command().spawn()?))?.ok()?;
        }
        let found = own.dump()?;
        must(found == all, || {
            format!("{what}: {}", crate::zombies::changed(&all, &found))
        })?;
        own.is_sound()?;
        own.remove();
    }
    Ok(())
}

/// A move that died goes on, and gives what one gives that nobody disturbs. Until then nobody can use what there is.
fn migrate(ground: &Ground<'_>, deaths: &[At]) -> Result<(), Broken> {
    let undisturbed = ground.bare("whole")?;
    let whole = ends(Leashed(moving(ground, &undisturbed).spawn()?))?.ok()?;
    let same = |answer: &Value| {
        ["sha256", "rows"]
            .iter()
            .all(|name| answer[name] == whole[name])
    };
    for (n, &at) in deaths.iter().enumerate() {
        let (point, time) = at;
        let what = format!("migrate that dies at {point:?}, time {time},");
        let own = ground.bare(&n.to_string())?;
        dies(moving(ground, &own), &what, at)?;
        let again = |to: &Ground<'_>| -> Result<Outcome, Broken> {
            ends(Leashed(moving(ground, to).spawn()?))
        };
        if point == FailPoint::MoveAfterEnd {
            again(&own)?.refused(20, "already_exists")?;
        } else {
            // Nothing is noted before the first commit.
            let is_begun = at != (FailPoint::MoveBeforeCommit, 1);
            if is_begun {
                own.run("list")?.refused(50, "store_moving")?;
            }
            let rest = again(&own)?.ok()?;
            must(same(&rest) && rest["resumed"] == is_begun, || {
                format!("{what} and goes on must come to {whole}, and came to {rest}")
            })?;
        }
        let (found, all) = (own.dump()?, undisturbed.dump()?);
        must(found == all, || {
            format!("{what}: {}", crate::zombies::changed(&all, &found))
        })?;
        own.is_sound()?;
        own.remove();
    }
    undisturbed.remove();
    Ok(())
}

/// The command that moves a store to another place.
fn moving(from: &Ground<'_>, to: &Ground<'_>) -> std::process::Command {
    let mut command = from.command(["migrate", "--json", "--from"]);
    command.arg(from.db()).arg("--to").arg(to.db());
    command
}
