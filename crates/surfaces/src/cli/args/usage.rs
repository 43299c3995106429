//! What the parser complains of, as refusals that say what to do.

use std::ffi::OsString;

use clap::Command;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use inbox_core::Refusal;

use super::words;

pub(super) fn no_command() -> Refusal {
    Refusal::input("no command was given").hint("inbox --help lists the commands")
}

/// A complaint of the parser; `called` is the command, if it was found, and `whole` has all of them.
pub(super) fn refusal(
    error: &clap::Error,
    called: Option<&str>,
    argv: &[OsString],
    whole: &Command,
) -> Refusal {
    // A word after `lock` is a passphrase, most likely.
    let strange = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(word)) => word.as_str(),
        _ => "-",
    };
    if called == Some("lock") && !strange.starts_with('-') {
        return Refusal::input(
            "lock takes no passphrase among its arguments, which every process list shows",
        )
        .hint("inbox lock asks for it at the terminal; choose another one now");
    }
    if error.kind() == ErrorKind::InvalidUtf8
        && let Some(strange) = argv.iter().find(|arg| arg.to_str().is_none())
    {
        let shown = strange.to_string_lossy();
        return Refusal::input(format!("the argument {shown:?} is not UTF-8 text"))
            .hint(help(called, None));
    }
    let group = group(argv, whole);
    if error.kind() == ErrorKind::MissingSubcommand {
        return match group {
            None => no_command(),
            Some(group) => {
                Refusal::input(format!("{} was given no command of its own", group.path))
                    .hint(help(called, Some(&group)))
            }
        };
    }
    let rendered = error.render().to_string();
    let paragraph = rendered.split("\n\n").next().unwrap_or_default();
    let message = paragraph
        .trim_start_matches("error: ")
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    let tip = rendered
        .lines()
        .find_map(|line| line.trim().strip_prefix("tip: "))
        .map(|tip| format!("{tip}; "));
    let group = group.filter(|_| error.kind() == ErrorKind::InvalidSubcommand);
    Refusal::input(message).hint(format!(
        "{}{}",
        tip.unwrap_or_default(),
        help(called, group.as_ref())
    ))
}

/// Which command shows what can be written there.
fn help(called: Option<&str>, group: Option<&Group>) -> String {
    match (called, group) {
        (_, Some(Group { path, commands })) => {
            format!("{path} --help shows its commands: {}", commands.join(", "))
        }
        (Some(name), None) => format!("inbox {name} --help shows what it takes"),
        (None, None) => "inbox --help shows what it takes".to_owned(),
    }
}

/// A command that holds others.
struct Group {
    /// How it is called.
    path: String,
    /// The commands that it holds.
    commands: Vec<String>,
}

/// The innermost command that holds others, by the words of the arguments.
fn group(argv: &[OsString], whole: &Command) -> Option<Group> {
    let mut path = "inbox".to_owned();
    let mut found = whole;
    for word in words(argv) {
        let Some(next) = found
            .find_subcommand(word)
            .filter(|one| one.has_subcommands())
        else {
            break;
        };
        found = next;
        path = format!("{path} {word}");
    }
    let is_below = path != "inbox";
    is_below.then(|| Group {
        path,
        commands: found
            .get_subcommands()
            .map(|one| one.get_name().to_owned())
            .collect(),
    })
}
