//! The command line.
//!
//! Operations become subcommands by their schemas; what is not an operation is in `local`. Every
//! outcome passes through [`main`], the only place that prints an error and chooses an exit status.

mod args;
pub(crate) mod config;
pub(crate) mod far;
pub(crate) mod find;
mod local;
pub(crate) mod operation;
pub(crate) mod passphrase;
pub(crate) mod print;
pub mod wait;

use std::ffi::OsString;
use std::process::ExitCode;

use inbox_core::{AgentName, Code, Refusal, SessionId};

pub(crate) use local::{Doors, check_ledger, health, proof_of};
use print::Printer;

/// The status by which a hook of Claude Code wakes its session.
const REWAKE: u8 = 2;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It found or did something.
    Something,
    /// It found nothing, or timed out: an outcome, not an error.
    Nothing,
    /// It failed by this code, and has said so in its own answer.
    Failed(Code),
    /// It waited for mail at a hook of a client that takes this status for a reason to go on.
    Rewake,
}

/// What every command is given.
pub(crate) struct Context {
    /// `--db`, as it was given.
    pub(crate) db: Option<String>,
    /// `--agent`, as it was given.
    pub(crate) agent_flag: Option<AgentName>,
    /// Who calls: `--agent`, else `INBOX_AGENT`.
    pub(crate) agent: Option<AgentName>,
    /// Which session: `--session`, else `INBOX_SESSION`, else the one that the client around it names.
    pub(crate) session: Option<SessionId>,
    /// Whether only the client around it names the session, which then counts if it is on the roster.
    pub(crate) is_clients_session: bool,
    /// Where answers go.
    pub(crate) printer: Printer,
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    let argv: Vec<OsString> = std::env::args_os().collect();
    let called = argv.clone();
    if let Some(ended) = local::guardian(&argv).or_else(|| local::worker(&argv)) {
        return ended;
    }
    // What a fault is must not depend on how the program was built: it is an error with a code, as any other.
    std::panic::catch_unwind(|| run(argv)).unwrap_or_else(|_| {
        let refusal = Refusal::new(Code::Internal, "a fault in inbox ended this command")
            .hint("inbox doctor checks the store; send the command again with the same --key");
        if local::hook_is_called(&called) {
            return local::hook_failed(&refusal);
        }
        let as_json = wants_json(&called);
        Printer::new(as_json).refusal(&refusal);
        ExitCode::from(refusal.code.exit())
    })
}

/// Whether an argument asks for JSON. What follows the two dashes of `run` is another program's.
fn wants_json(argv: &[OsString]) -> bool {
    let own = argv.iter().skip(1);
    let dashes = own.clone().position(|arg| arg == "--");
    let is_run = own
        .clone()
        .take(dashes.unwrap_or(0))
        .any(|arg| arg == "run");
    let own = own.take(dashes.filter(|_| is_run).unwrap_or(argv.len()));
    own.into_iter().any(|arg| arg == "--json")
}

fn run(argv: Vec<OsString>) -> ExitCode {
    // Before anything is parsed, so that a usage error has the right form too.
    let as_json = wants_json(&argv);
    let printer = Printer::new(as_json);
    // A person who says nothing more wants to see; a pipe, a program or an agent is told what there is.
    let bare = (printer.is_terminal() && crate::tui::is_possible())
        .then(|| args::bare(&argv))
        .flatten();
    let parsed = match bare {
        Some(globals) => Ok(args::Parsed::Bare(globals)),
        None => args::parse(&argv),
    };
    let outcome = match parsed {
        Ok(args::Parsed::Bare(globals)) => {
            context(globals, printer).and_then(|context| crate::tui::run(&context))
        }
        Ok(args::Parsed::Command {
            name,
            matches,
            fields,
            globals,
        }) => context(globals, printer)
            .and_then(|context| dispatch(&name, &matches, &fields, &context))
            .map_err(|refusal| helped(refusal, &name)),
        Ok(args::Parsed::Text(text)) => printer.raw(&text).map(|()| Ended::Something),
        Err(refusal) => Err(refusal),
    };
    match outcome {
        Ok(Ended::Something) => ExitCode::SUCCESS,
        Ok(Ended::Nothing) => ExitCode::from(inbox_core::error::EXIT_NOTHING),
        Ok(Ended::Failed(code)) => ExitCode::from(code.exit()),
        Ok(Ended::Rewake) => ExitCode::from(REWAKE),
        Err(refusal) if local::hook_is_called(&argv) => local::hook_failed(&refusal),
        Err(refusal) => {
            printer.refusal(&refusal);
            ExitCode::from(refusal.code.exit())
        }
    }
}

/// Bad input for which nobody knew better what to do is the business of the command's own help.
fn helped(refusal: Refusal, command: &str) -> Refusal {
    if refusal.code == Code::InvalidInput && refusal.hint.is_empty() {
        return refusal.hint(format!("inbox {command} --help shows what it takes"));
    }
    refusal
}

fn context(globals: args::Globals, printer: Printer) -> Result<Context, Refusal> {
    let agent_flag: Option<AgentName> = globals.agent.map(|name| name.parse()).transpose()?;
    let agent = match &agent_flag {
        Some(agent) => Some(agent.clone()),
        None => find::from_environment("INBOX_AGENT")?,
    };
    let session = match globals.session {
        Some(session) => Some(session.parse()?),
        None => find::from_environment("INBOX_SESSION")?,
    };
    let clients = match session {
        Some(_) => None,
        None => find::clients_session(),
    };
    Ok(Context {
        db: globals.db,
        agent_flag,
        agent,
        is_clients_session: clients.is_some(),
        session: session.or(clients),
        printer,
    })
}

fn dispatch(
    name: &str,
    matches: &clap::ArgMatches,
    fields: &[args::Field],
    context: &Context,
) -> Result<Ended, Refusal> {
    match local::run(name, matches, context) {
        Some(outcome) => outcome,
        None => operation::run(name, matches, fields, context),
    }
}

/// The whole command, for completions, man pages and the reference.
pub fn command() -> clap::Command {
    args::command(None)
}
