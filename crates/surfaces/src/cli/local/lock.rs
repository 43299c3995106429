//! `lock`: a person's name is hers, by a passphrase.

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::{AgentName, Code, Refusal};
use inbox_ops::Caller;
use serde_json::json;

use crate::cli::passphrase::{self, Terminal};
use crate::cli::{Context, Ended, operation};

pub(super) fn describe(command: Command) -> Command {
    command
        .about("Lock your name with a passphrase, so that no agent speaks or decides as you")
        .long_about(
            "Lock your name with a passphrase, so that no agent speaks or decides as you\n\nThe passphrase is asked for at the terminal, here and whenever a command on this machine writes in your name, makes a token or a link for you, makes somebody a person, lets somebody in from a ledger, or approves a signature. It is kept as a slow hash. Tokens and sessions of the console that you have already go on; inbox token list shows them.",
        )
        .arg(super::ui::person())
        .arg(
            Arg::new("off")
                .long("off")
                .action(ArgAction::SetTrue)
                .help("Take the lock away"),
        )
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let named = matches.get_one::<String>("as");
    let named = named.map(|name| name.parse::<AgentName>()).transpose()?;
    let inbox = operation::open(context)?;
    let person = match named.or_else(|| context.agent_flag.clone()) {
        Some(person) => person,
        None => inbox.person()?,
    };
    let mut terminal = Terminal::open().ok_or_else(|| {
        Refusal::new(
            Code::Locked,
            "a passphrase is typed by a person, and this is no terminal",
        )
        .hint("run inbox lock in a terminal")
    })?;
    let mut caller = Caller::local(None);
    if inbox.is_locked(&person)? {
        let proven = passphrase::prove(&inbox, &caller, &person)?;
        caller = proven.unwrap_or(caller);
    }
    let is_off = matches.get_flag("off");
    let given = if is_off {
        None
    } else {
        let given = terminal.ask(&format!("a passphrase for {person}: "))?;
        if terminal.ask("the same again: ")? != given {
            return Err(
                Refusal::input("the two are not the same, and nothing has changed")
                    .hint("inbox lock asks again"),
            );
        }
        Some(given)
    };
    inbox.lock(&caller, &person, given.as_deref())?;
    if context.printer.is_json() {
        let body = json!({ "agent_id": person, "is_locked": !is_off });
        context.printer.object("lock", true, &body)?;
    } else {
        let state = if is_off { "no lock" } else { "locked" };
        context.printer.raw(&format!("{person}  {state}\n"))?;
    }
    Ok(Ended::Something)
}
