//! `help` and `version`: what the flags of the same names print, for those who write a command.

use std::ffi::OsString;

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::{Code, Refusal};

use crate::cli::args::{self, Parsed};
use crate::cli::{Context, Ended};

pub(super) fn describe(command: Command) -> Command {
    command
        .about("Show what a command takes, as --help behind it does")
        .arg(
            Arg::new("command")
                .value_name("COMMAND")
                .action(ArgAction::Append)
                .num_args(0..)
                .help("Its words, such as token create; without any, every command is named"),
        )
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let words: Vec<&String> = matches.get_many("command").unwrap_or_default().collect();
    let whole = crate::cli::command();
    let (mut found, mut path) = (&whole, "inbox".to_owned());
    for word in &words {
        let Some(next) = found.find_subcommand(word) else {
            let known: Vec<_> = found.get_subcommands().map(Command::get_name).collect();
            let hint = if known.is_empty() {
                format!("{path} --help shows what it takes")
            } else {
                format!("{path} --help names its commands: {}", known.join(", "))
            };
            return Err(Refusal::input(format!("{path} has no command {word:?}")).hint(hint));
        };
        found = next;
        path = format!("{path} {word}");
    }
    let words = words.into_iter().map(String::as_str);
    let argv: Vec<OsString> = ["inbox"]
        .into_iter()
        .chain(words)
        .chain(["--help"])
        .map(OsString::from)
        .collect();
    // The flag itself is asked, so that both print the same.
    match args::parse(&argv)? {
        Parsed::Text(text) => super::print(context, "help", &text),
        _ => Err(Refusal::new(
            Code::Internal,
            format!("{path} --help printed nothing"),
        )),
    }
}

pub(super) fn version(context: &Context) -> Result<Ended, Refusal> {
    super::print(context, "version", &format!("inbox {}\n", super::version()))
}
