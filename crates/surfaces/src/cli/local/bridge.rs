//! `bridge`: moves messages between the store and the ledger, until it is told to stop.

use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_bridge::bridge::{Bridge, Turn};
use inbox_core::{Code, Refusal};
use inbox_hedera::network::Network;
use inbox_ops::{Cell, Inbox, Page};
use serde_json::{Value, json};

use super::hcs;
use crate::cli::print::complain;
use crate::cli::{Context, Ended, operation};

/// How long to wait after a turn in which there was nothing to do; twice as long after each such turn, up to the longest.
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

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
                .help("Do what there is to do, and end"),
        )
        .subcommand(
            Command::new("status").about("Show what waits for the ledger, and what was found there"),
        )
}

pub(super) fn run(name: &str, matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let inbox = operation::open(context)?;
    if name == "bridge status" {
        return status(&inbox, context);
    }
    let network = network(&inbox)?;
    let keys = hcs::keys_path(matches.get_one::<String>("keys").cloned());
    let mut bridge = Bridge::new(&inbox, network, keys)?;
    let all = if matches.get_flag("once") {
        until_idle(&mut bridge)?
    } else {
        let told = when_told()?;
        say(context, &inbox)?;
        until_told(&mut bridge, &told)?
    };
    bridge.leave()?;
    if matches.get_flag("once") {
        let Turn {
            sent,
            taken,
            problems,
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
        if turn.sent + turn.taken == 0 {
            return Ok(all);
        }
    }
}

pub(super) fn until_told(bridge: &mut Bridge<'_>, told: &Receiver<()>) -> Result<Turn, Refusal> {
    let mut pause = PAUSE;
    loop {
        let turn = bridge.turn()?;
        if turn.problems > 0 {
            complain(
                "inbox bridge: the ledger does not do everything now; inbox bridge status says what",
            );
        }
        pause = if turn.sent + turn.taken > 0 {
            PAUSE
        } else {
            (pause * 2).min(LONGEST_PAUSE)
        };
        match told.recv_timeout(pause) {
            Err(RecvTimeoutError::Timeout) => {}
            Ok(()) | Err(RecvTimeoutError::Disconnected) => return Ok(turn),
        }
    }
}

/// Hears when this process is told to stop.
fn when_told() -> Result<Receiver<()>, Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Refusal::new(Code::Internal, format!("no runtime: {error}")))?;
    let (send, told) = channel();
    std::thread::spawn(move || {
        let _ = runtime.block_on(crate::http::signalled());
        let _ = send.send(());
    });
    Ok(told)
}

fn status(inbox: &Inbox, context: &Context) -> Result<Ended, Refusal> {
    let standing = inbox.ledger_standing()?;
    let backlog = standing.backlog;
    let counts = |name: &str| {
        let found = standing
            .records
            .iter()
            .find(|(state, _)| state.name() == name);
        found.map_or(0, |(_, count)| *count)
    };
    if context.printer.is_json() {
        let topics: Vec<Value> = standing
            .topics
            .iter()
            .map(|topic| {
                json!({
                    "topic_id": topic.topic,
                    "name": topic.name,
                    "sequence_number": topic.sequence,
                    "running_hash": topic.hash,
                    "problem": topic.problem,
                })
            })
            .collect();
        let mut records = serde_json::Map::new();
        for state in inbox_store::RecordState::ALL {
            records.insert(state.name().to_owned(), json!(counts(state.name())));
        }
        let body = json!({
            "network": inbox.config().ledger.network,
            "backlog": { "messages": backlog.count, "since": backlog.since, "problems": backlog.problems },
            "topics": topics,
            "records": records,
        });
        context.printer.object("bridge status", true, &body)?;
        return Ok(Ended::Something);
    }
    let mut page = Page::default().line(match backlog.count {
        0 => "nothing waits for the ledger".to_owned(),
        count => format!(
            "{count} wait for the ledger, {} with a problem",
            backlog.problems
        ),
    });
    let rows: Vec<Vec<Cell>> = standing
        .topics
        .iter()
        .map(|topic| {
            [
                topic.topic.clone().unwrap_or_default(),
                topic.name.clone(),
                topic.sequence.to_string(),
                topic.problem.clone().unwrap_or_default(),
            ]
            .map(Cell::Text)
            .to_vec()
        })
        .collect();
    if !rows.is_empty() {
        page = page.table(vec!["TOPIC", "OF", "TAKEN IN", "PROBLEM"], rows);
    }
    for (state, count) in &standing.records {
        page = page.line(format!("{count} {}", state.name()));
    }
    context.printer.page(&page)?;
    Ok(Ended::Something)
}
