//! `hook`: what an agent's client runs at its own moments, so that the agent notices mail without being asked.
//!
//! Whatever goes wrong, the agent goes on: the exit status is 0 and nothing is printed. What went wrong is kept in
//! one line beside the store, where `inbox doctor` finds it.

mod client;
mod trace;
mod turn;

use std::ffi::OsString;
use std::io::{IsTerminal, Read};
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command};
use inbox_core::sabotage::planted;
use inbox_core::text::visible;
use inbox_core::{Code, Refusal};

use crate::cli::print::complain;
use crate::cli::{Context, Ended, args, find};

use client::{CLIENTS, Client, EVENTS, Event, Input};
pub(super) use trace::last as last_error;
pub(super) use turn::project;

/// How long an agent waits for its mail at the most: for a store that somebody keeps locked, for a server that
/// does not answer, for a client that never ends its input.
const PATIENCE: Duration = Duration::from_secs(2);

/// The most of a client's input that is looked at, in bytes. Tools may have said much.
const INPUT: u64 = 16 << 20;

pub(super) fn describe(command: Command) -> Command {
    let names = |all: Vec<&'static str>| PossibleValuesParser::new(all);
    command
        .about("Answer a client's hook: print new mail as the client wants it")
        .long_about(
            "Answer a client's hook: print new mail as the client wants it\n\n\
             The client's JSON is read from standard input. Without new mail nothing is printed. An error stops no \
             agent: the exit status is 0, INBOX_HOOK_DEBUG=1 prints the reason, and inbox doctor shows the last one.",
        )
        .arg(
            Arg::new("client")
                .value_name("CLIENT")
                .required(true)
                .value_parser(names(CLIENTS.iter().map(|client| client.name()).collect()))
                .help("The client that runs it"),
        )
        .arg(
            Arg::new("event")
                .value_name("EVENT")
                .required(true)
                .value_parser(names(EVENTS.iter().map(|event| event.name()).collect()))
                .help("What happens in the client"),
        )
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let word = |id: &str| matches.get_one::<String>(id).map_or("", String::as_str);
    let (client, event) = (Client::named(word("client"))?, Event::named(word("event"))?);
    on_panic(client, event);
    let (done, answer) = mpsc::channel();
    let asked = turn::Asked::of(context)?;
    // The work is another thread's, so that whatever it waits for, the agent is not kept.
    std::thread::spawn(move || {
        let outcome = input().and_then(|input| turn::take(client, event, &input, &asked));
        let _ = done.send(outcome);
    });
    let outcome = answer.recv_timeout(PATIENCE).unwrap_or_else(|_| {
        let seconds = PATIENCE.as_secs();
        Err(Refusal::new(
            Code::Storage,
            format!("there was no answer within {seconds} seconds"),
        )
        .hint("inbox doctor says who keeps the store locked"))
    });
    match outcome {
        Ok(text) => {
            trace::forget(context);
            if let Some(text) = text {
                // A client that has gone needs no answer.
                let _ = context.printer.raw(&text);
            }
            Ok(Ended::Something)
        }
        Err(refusal) => {
            trace::keep(context, client, event, &refusal);
            Err(refusal)
        }
    }
}

/// What the client says. A person who tries the command has nothing to say.
fn input() -> Result<Input, Refusal> {
    let mut stdin = std::io::stdin().lock();
    if stdin.is_terminal() {
        return Ok(Input::default());
    }
    let cannot = |error: std::io::Error| {
        Refusal::input(format!("the client's input cannot be read: {error}"))
    };
    let mut text = Vec::new();
    stdin
        .by_ref()
        .take(INPUT)
        .read_to_end(&mut text)
        .map_err(cannot)?;
    // A client may fail when its hook does not listen to the end.
    std::io::copy(&mut stdin, &mut std::io::sink()).map_err(cannot)?;
    Input::parse(&text)
}

/// A fault of this program must not stop an agent either.
fn on_panic(client: Client, event: Event) {
    std::panic::set_hook(Box::new(move |info| {
        // Where it was, and not with what: that may be somebody's mail or token.
        let place = info.location().map(ToString::to_string);
        let place = place.unwrap_or_else(|| "an unknown place".to_owned());
        let problem = Refusal::new(Code::Internal, format!("a fault at {place}"));
        say(&problem);
        trace::keep_in(trace::folder(None).as_deref(), client, event, &problem);
        #[expect(clippy::exit, reason = "the shipped program would abort otherwise")]
        std::process::exit(0);
    }));
}

/// Whether the arguments ask for a hook, and no person waits for the answer.
pub(crate) fn is_called(argv: &[OsString]) -> bool {
    args::called(argv).is_some_and(|name| name == "hook") && !std::io::stdin().is_terminal()
}

/// What a hook that failed leaves behind.
pub(crate) fn failed(refusal: &Refusal) -> ExitCode {
    say(refusal);
    if planted("hook_stops") {
        return ExitCode::from(refusal.code.exit());
    }
    ExitCode::SUCCESS
}

fn say(refusal: &Refusal) {
    if find::variable("INBOX_HOOK_DEBUG").is_some() {
        let (code, message) = (refusal.code, visible(&refusal.message, false));
        complain(&format!("inbox hook: {message} ({code})"));
    }
}
