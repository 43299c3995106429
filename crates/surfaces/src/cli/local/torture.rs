//! `torture`: what inbox promises, tried on this machine.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use inbox_core::{Code, EventId, Refusal, ThreadId};
use inbox_ops::{Caller, Inbox, WaitReply};
use inbox_store::Location;
use inbox_torture::{Asked, Plan, Report, Tools, play, worker};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use crate::cli::{Context, Ended, find, wait};

/// How long it takes unless somebody says otherwise.
const SECONDS: &str = "60";

pub(super) fn describe(command: Command) -> Command {
    let number = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .value_name(value)
            .value_parser(value_parser!(u64))
            .help(help)
    };
    command
        .about("Try on this machine what inbox promises: kills, races, stopped workers, clocks, crowds")
        .long_about(
            "Try on this machine what inbox promises: kills, races, stopped workers, clocks, crowds\n\nEverything happens on scratch stores in a folder beside the store, or in PostgreSQL in schemas of their own; the store itself is not opened. The page says what was tried and what held. Each part goes on in rounds that come again with their seed, and what did not hold comes with the command that shows it again.",
        )
        .arg(number("seconds", "N", "Take so long, for all parts together").default_value(SECONDS))
        .arg(
            number("rounds", "N", "Go so many rounds in each part instead")
                .conflicts_with("round"),
        )
        .arg(number("round", "N", "Go this round of each part alone, to see it again"))
        .arg(number("seed", "N", "Throw the dice of this seed [default: another each time]"))
        .arg(
            Arg::new("only")
                .long("only")
                .value_name("PART,…")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help("Try these parts alone"),
        )
        .arg(
            Arg::new("keep")
                .long("keep")
                .action(ArgAction::SetTrue)
                .help("Leave the scratch stores behind, as happens when a promise did not hold"),
        )
}

/// Runs as a worker of the torture, if the arguments say so.
pub(crate) fn worker(argv: &[OsString]) -> Option<ExitCode> {
    let mut args = argv.iter().skip(1).map(|arg| arg.to_str());
    if args.next().flatten() != Some(worker::WORKER) {
        return None;
    }
    let args: Option<Vec<String>> = args.map(|arg| arg.map(str::to_owned)).collect();
    Some(match worker::run(&args?, &mut std::io::stdout().lock()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            crate::cli::print::complain(&refusal.message);
            ExitCode::from(refusal.code.exit())
        }
    })
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let plan = plan(matches, context)?;
    let stop = Arc::new(AtomicBool::new(false));
    stop_when_told(Arc::clone(&stop))?;
    let report = play(&plan, &stop, &mut |line| context.printer.in_place(line));
    context.printer.in_place("");
    show(&report?, context)
}

fn plan(matches: &ArgMatches, context: &Context) -> Result<Plan, Refusal> {
    let number = |name: &str| matches.get_one::<u64>(name).copied();
    let asked = match (number("rounds"), number("round")) {
        (Some(rounds), _) => Asked::Rounds(rounds),
        (None, Some(round)) => Asked::Round(round),
        (None, None) => Asked::Seconds(number("seconds").unwrap_or_default()),
    };
    let only = matches.get_many::<String>("only").unwrap_or_default();
    let seed = match number("seed") {
        Some(seed) => seed,
        None => u64::from(
            getrandom::u32()
                .map_err(|error| Refusal::new(Code::Internal, format!("no seed: {error}")))?,
        ),
    };
    let program = std::env::current_exe().map_err(|error| {
        Refusal::new(
            Code::Internal,
            format!("this program cannot be found: {error}"),
        )
    })?;
    Ok(Plan {
        beside: beside(context)?,
        only: only.cloned().collect(),
        asked,
        seed,
        keep: matches.get_flag("keep"),
        tools: Tools {
            program,
            wait: wait_for_reply,
        },
    })
}

/// The store beside which it happens, or without one the working directory.
fn beside(context: &Context) -> Result<Location, Refusal> {
    match find::store(context.db.as_deref()) {
        Err(refusal) if refusal.code == Code::StoreNotFound => {
            Ok(Location::File(PathBuf::from("coord.db")))
        }
        found => found,
    }
}

/// Waits as `wait-reply` does.
fn wait_for_reply(
    inbox: &Inbox,
    caller: &Caller,
    thread: ThreadId,
    after: EventId,
) -> Result<(inbox_torture::Woken, String, EventId), Refusal> {
    let request = WaitReply {
        thread,
        after_message: None,
        after_event: Some(after),
        kinds: Vec::new(),
        timeout_seconds: Some(30),
    };
    let mut heard = (String::new(), after);
    let woken = wait::until_over(&request, inbox, caller, |answer, _| {
        if let Some(message) = &answer.message {
            heard = (message.summary.clone(), answer.next_event_id);
        }
        Ok(true)
    })?;
    let woken = match woken {
        wait::Woken::AtOnce => inbox_torture::Woken::AtOnce,
        wait::Woken::ByBell => inbox_torture::Woken::ByBell,
        wait::Woken::ByLook => inbox_torture::Woken::ByLook,
        wait::Woken::InVain => inbox_torture::Woken::InVain,
    };
    Ok((woken, heard.0, heard.1))
}

/// Sets `stop` when the process is told to stop. It listens from here on: what is made afterwards is taken away again.
fn stop_when_told(stop: Arc<AtomicBool>) -> Result<(), Refusal> {
    let no_signals =
        |error: std::io::Error| Refusal::new(Code::Internal, format!("no signals: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(no_signals)?;
    let (mut interrupt, mut terminate) = {
        let _inside = runtime.enter();
        let on = |kind| signal(kind).map_err(no_signals);
        (on(SignalKind::interrupt())?, on(SignalKind::terminate())?)
    };
    std::thread::spawn(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
        });
        stop.store(true, Ordering::SeqCst);
    });
    Ok(())
}

fn show(report: &Report, context: &Context) -> Result<Ended, Refusal> {
    let broken = report.broken().next().map(|row| {
        let why = row.why.clone().unwrap_or_default();
        Refusal::new(Code::PromiseBroken, format!("{}: {why}", row.part))
            .hint(row.replay.clone().unwrap_or_default())
            .detail("part", row.part)
            .detail("promise", row.promise)
    });
    if context.printer.is_json() {
        let mut body = serde_json::to_value(report).unwrap_or(Value::Null);
        body["verdict"] = json!(report.verdict());
        if let Some(refusal) = &broken {
            body["error"] = json!(refusal);
        }
        context.printer.object("torture", broken.is_none(), &body)?;
    } else {
        context.printer.page(&report.page())?;
    }
    Ok(match broken {
        None => Ended::Something,
        Some(refusal) => Ended::Failed(refusal.code),
    })
}
