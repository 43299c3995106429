//! `bridge`: moves messages between the store and the ledger, until it is told to stop.

mod status;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_bridge::bridge::{Bridge, Stopper, Turn};
use inbox_core::{Code, Refusal};
use inbox_hedera::network::Network;
use inbox_ops::Inbox;
use serde_json::json;

use super::hcs;
use crate::cli::print::complain;
use crate::cli::{Context, Ended, operation};

/// How often it is said that the ledger does not do everything.
const COMPLAINT: Duration = Duration::from_mins(1);

pub(super) fn describe(command: Command) -> Command {
    command
        .about("Move messages between the store and the ledger, until it is told to stop")
        .long_about(
            "Move messages between the store and the ledger, until it is told to stop\n\nThe network is ledger.network in inbox.toml, and the keys are in the file of inbox hcs. Several bridges may run: they share the topics, and one that is gone is replaced.",
        )
        .disable_help_subcommand(true)
        .arg(
            Arg::new("keys")
                .long("keys")
                .value_name("FILE")
                .help("Where keys are; INBOX_HEDERA_KEYS does too [default: .agents/hedera.keys]"),
        )
        .arg(
            Arg::new("once")
                .long("once")
                .action(ArgAction::SetTrue)
                .help("Do what there is to do, and end; exit status 50 when a topic was put back"),
        )
        .subcommand(
            Command::new("status")
                .about("Show what waits for the ledger, what does not go, and what was found there")
                .arg(
                    Arg::new("all")
                        .long("all")
                        .action(ArgAction::SetTrue)
                        .help("Name every message that cannot be said, and not the first of them alone"),
                ),
        )
}

pub(super) fn run(name: &str, matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let inbox = operation::open(context)?;
    if name == "bridge status" {
        return status::show(&inbox, matches.get_flag("all"), context);
    }
    let network = network(&inbox)?;
    let keys = hcs::keys_path(matches.get_one::<String>("keys").cloned())?;
    let mut bridge = Bridge::new(&inbox, network, keys)?;
    let all = if matches.get_flag("once") {
        until_idle(&mut bridge)?
    } else {
        stop_when_told(bridge.stopper())?;
        say(context, &inbox)?;
        until_told(&mut bridge)?;
        Turn::default()
    };
    let put_back = bridge.put_back();
    bridge.leave()?;
    if matches.get_flag("once") {
        // Whoever runs it by a clock reads its exit status, and nothing else.
        if let Some(refusal) = put_back {
            return Err(refusal);
        }
        let Turn {
            sent,
            taken,
            problems,
            ..
        } = all;
        if context.printer.is_json() {
            let body = json!({ "sent": sent, "taken": taken, "problems": problems });
            context.printer.object("bridge", true, &body)?;
        } else {
            context
                .printer
                .raw(&format!("{sent} sent, {taken} taken in\n"))?;
        }
    }
    Ok(Ended::Something)
}

/// The network that the store's record lives on.
pub(super) fn network(inbox: &Inbox) -> Result<Network, Refusal> {
    let Some(name) = &inbox.config().ledger.network else {
        return Err(
            Refusal::input("this store is on no ledger: ledger.network is not set").hint(
                "inbox config shows the settings; [ledger] network = \"local\" in inbox.toml sets it",
            ),
        );
    };
    let named = hcs::network(name)?;
    let with_book = named.clone().with_address_book();
    Ok(with_book.unwrap_or(named))
}

fn say(context: &Context, inbox: &Inbox) -> Result<(), Refusal> {
    let network = inbox.config().ledger.network.clone().unwrap_or_default();
    if context.printer.is_json() {
        return context
            .printer
            .object("bridge", true, &json!({ "network": network }));
    }
    context
        .printer
        .raw(&format!("between this store and {network}\n"))
}

/// Turns until there is nothing to do, or nothing that can be done now.
fn until_idle(bridge: &mut Bridge<'_>) -> Result<Turn, Refusal> {
    let mut all = Turn::default();
    loop {
        let turn = bridge.turn()?;
        all.sent += turn.sent;
        all.taken += turn.taken;
        all.problems += turn.problems;
        if turn.is_idle() && !bridge.is_unsure() {
            return Ok(all);
        }
    }
}

pub(super) fn until_told(bridge: &mut Bridge<'_>) -> Result<(), Refusal> {
    let complained: Mutex<Option<Instant>> = Mutex::new(None);
    bridge.run(&|turn| {
        let Ok(mut last) = complained.lock() else {
            return;
        };
        let is_time = last.is_none_or(|last| last.elapsed() >= COMPLAINT);
        if turn.problems > 0 && is_time {
            *last = Some(Instant::now());
            complain(
                "inbox bridge: the ledger does not do everything now; inbox bridge status says what",
            );
        }
    })
}

/// Stops the bridge when this process is told to stop.
fn stop_when_told(stopper: Stopper) -> Result<(), Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Refusal::new(Code::Internal, format!("no runtime: {error}")))?;
    std::thread::spawn(move || {
        let _ = runtime.block_on(crate::http::signalled());
        stopper.stop();
    });
    Ok(())
}
