//! Commands that are not operations: they act on files and on this machine.

mod artifact;
mod bridge;
mod devnet;
mod doctor;
mod files;
mod hcs;
mod help;
mod hook;
mod init;
mod lock;
mod man;
mod migrate;
mod monitor;
mod notify;
mod presence;
mod process;
mod proof;
mod run;
mod serve;
mod setup;
mod torture;
mod ui;
mod up;
mod verify;
mod wire;

use std::path::Path;

use clap::{Arg, ArgMatches, Command};
use inbox_core::text::visible;
use inbox_core::{Code, Refusal};
use inbox_store::Location;
use serde_json::json;

use super::args::suggest;
use super::{Context, Ended, config, operation};

pub(crate) use artifact::describe as artifact;
pub(crate) use doctor::{Doors, health};
pub(crate) use files::with_files;
pub(crate) use hook::{failed as hook_failed, is_called as hook_is_called};
pub(crate) use run::guardian;
pub(crate) use torture::worker;
pub(crate) use verify::{check as check_ledger, proof_of};

/// Their names.
pub(crate) const NAMES: &[&str] = &[
    "init",
    "backup",
    "migrate",
    "run",
    "serve",
    "up",
    "ui",
    "lock",
    "notify",
    "tui",
    "bridge",
    "verify",
    "proof",
    "devnet",
    "hcs",
    "setup",
    "monitor",
    "doctor",
    "torture",
    "hook",
    "mcp",
    "config",
    "wire",
    "completions",
    "man",
    "skill",
    "help",
    "version",
];

/// The skill that agents read.
const SKILL: &str = include_str!("../../../../skills/inbox/SKILL.md");

/// The commands; with `only`, without the others.
pub(crate) fn commands(only: Option<&str>) -> Vec<Command> {
    NAMES
        .iter()
        .filter(|name| only.is_none_or(|only| only == **name))
        .map(|name| describe(Command::new(*name), name))
        .collect()
}

fn describe(command: Command, name: &str) -> Command {
    match name {
        "init" => init::describe(command),
        "backup" => command
            .about("Copy the store to a new file while others write")
            .arg(Arg::new("to").long("to").value_name("PATH").required(true).help("Write the copy here; it must not exist")),
        "migrate" => migrate::describe(command),
        "run" => run::describe(command),
        "serve" | "up" => serve::describe(command, name),
        "ui" => ui::describe(command),
        "lock" => lock::describe(command),
        "notify" => notify::describe(command),
        "tui" => command.about("Open the console in this terminal, as inbox without a command does").long_about(
            "Open the console in this terminal, as inbox without a command does\n\nWhat waits for you, who does what, and every thread; reply, answer, approve, claim for, call off. It is live, and ? shows the keys. You are the person on the roster; --agent says which one when there are several.",
        ),
        "bridge" => bridge::describe(command),
        "verify" => verify::describe(command),
        "proof" => proof::describe(command),
        "devnet" => devnet::describe(command),
        "hcs" => hcs::describe(command),
        "setup" => setup::describe(command),
        "monitor" => monitor::describe(command),
        "doctor" => command.about("Check the store, or the server in --db, and this machine, and say what to do"),
        "torture" => torture::describe(command),
        "hook" => hook::describe(command),
        "mcp" => crate::mcp::stdio::describe(command),
        "config" => command.about("Show each setting and where it came from").long_about(
            "Show each setting and where it came from\n\nThe user's own inbox.toml, over it the one beside the store, over both the environment: INBOX_GUARD_MAX_TURNS sets guard.max_turns.",
        ),
        "wire" => wire::describe(command),
        "completions" => command
            .about("Print completions for a shell")
            .arg(suggest(
                Arg::new("shell").value_name("SHELL").required(true).help("bash, elvish, fish, powershell or zsh"),
                ["bash", "elvish", "fish", "powershell", "zsh"],
            )),
        "man" => man::describe(command),
        "help" => help::describe(command),
        "version" => command.about("Say which version this is, as --version does"),
        "skill" => command.about("Print the skill that teaches an agent to use inbox"),
        _ => command,
    }
}

/// Runs a command of this list; `None` when it is not one.
pub(crate) fn run(
    name: &str,
    matches: &ArgMatches,
    context: &Context,
) -> Option<Result<Ended, Refusal>> {
    let text = |id: &str| matches.try_get_one::<String>(id).ok().flatten().cloned();
    Some(match name {
        "init" => init::run(matches, context),
        "backup" => backup(context, &text("to").unwrap_or_default()),
        "migrate" => migrate::run(matches, context),
        "run" => run::run(matches, context),
        "serve" => serve::serve(matches, context),
        "up" => serve::up(matches, context),
        "ui" => ui::run(matches, context),
        "lock" => lock::run(matches, context),
        "notify" => notify::run(matches, context),
        "tui" => crate::tui::run(context),
        "devnet" | "devnet accounts" | "devnet reset" => devnet::run(name, matches, context),
        "bridge" | "bridge status" => bridge::run(name, matches, context),
        "verify" => verify::run(matches, context),
        "proof" => proof::run(matches, context),
        name if name.starts_with("hcs ") => hcs::run(name, matches, context),
        "setup" => setup::run(matches, context),
        "monitor" => monitor::run(matches, context),
        "doctor" => doctor::run(context),
        "torture" => torture::run(matches, context),
        "hook" => hook::run(matches, context),
        "mcp" => crate::mcp::stdio::run(matches, context),
        "config" => config::show(context),
        "wire validate" | "wire schema" | "wire new" | "wire types" => {
            wire::run(name, matches, context)
        }
        "export" if text("dir").is_some() => files::export(matches, context),
        "import" => files::import(matches, context),
        "completions" => completions(context, &text("shell").unwrap_or_default()),
        "man" => man::run(matches, context),
        "help" => help::run(matches, context),
        "version" => help::version(context),
        "skill" => print(context, "skill", SKILL),
        _ => return None,
    })
}

/// The program's version, and those that decide what a store can hold.
pub(crate) fn version() -> String {
    format!(
        "{} (SQLite {}, schema {})",
        env!("CARGO_PKG_VERSION"),
        inbox_store::sqlite_version(),
        inbox_store::sql::SCHEMA_VERSION
    )
}

fn backup(context: &Context, to: &str) -> Result<Ended, Refusal> {
    if to.is_empty() {
        return Err(Refusal::input("--to is empty"));
    }
    let path = Path::new(to);
    if path.exists() {
        return Err(
            Refusal::new(Code::AlreadyExists, format!("{to} exists already"))
                .hint("a backup never overwrites: name another file"),
        );
    }
    let inbox = operation::open(context)?;
    if let Location::Postgres(_) = inbox.store().location() {
        let place = inbox.store().location().shown();
        return Err(Refusal::input(format!("{place} is PostgreSQL's to copy"))
            .hint("pg_dump copies a live database; inbox backup copies SQLite files"));
    }
    inbox.store().backup(path)?;
    let bytes = std::fs::metadata(path).map_or(0, |found| found.len());
    if context.printer.is_json() {
        let body = json!({ "db": inbox.store().location().shown(), "backup": to, "bytes": bytes });
        context.printer.object("backup", true, &body)?;
    } else {
        context
            .printer
            .raw(&format!("{}  {bytes} bytes\n", visible(to, false)))?;
    }
    Ok(Ended::Something)
}

fn completions(context: &Context, shell: &str) -> Result<Ended, Refusal> {
    let shell: clap_complete::Shell = shell.parse().map_err(|_| {
        Refusal::input(format!("unknown shell {shell:?}"))
            .hint("use one of bash, elvish, fish, powershell, zsh")
    })?;
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut super::command(), "inbox", &mut text);
    print(context, "completions", &String::from_utf8_lossy(&text))
}

/// Reads a whole number for the parser, which would complain of digits and of bounds that nobody has to know.
fn whole<T: TryFrom<u64>>(
    least: u64,
    most: u64,
) -> impl Fn(&str) -> Result<T, String> + Clone + Send + Sync + 'static {
    move |text| {
        let number = text.parse().ok();
        let within = number.filter(|number| (least..=most).contains(number));
        within
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| {
                if most == u64::MAX {
                    format!("a whole number from {least} on is wanted")
                } else {
                    format!("a whole number from {least} to {most} is wanted")
                }
            })
    }
}

fn print(context: &Context, command: &str, text: &str) -> Result<Ended, Refusal> {
    if context.printer.is_json() {
        context
            .printer
            .object(command, true, &json!({ "text": text }))?;
    } else {
        context.printer.raw(text)?;
    }
    Ok(Ended::Something)
}
