//! `torture`: what inbox promises, tried on this machine.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::{Code, EventId, Refusal, ThreadId};
use inbox_ops::{Caller, Inbox, WaitReply};
use inbox_store::Location;
use inbox_torture::{Asked, PARTS, Plan, Report, Row, Tools, keeper, play, worker};
use serde_json::{Value, json};
use tokio::signal::unix::{SignalKind, signal};

use super::whole;
use crate::cli::args::suggest;
use crate::cli::{Context, Ended, find, wait};

/// How long it takes unless somebody says otherwise.
const SECONDS: &str = "60";

/// How long after the first wish that it stop another one means that it is not quick enough.
const AGAIN: Duration = Duration::from_millis(500);

pub(super) fn describe(command: Command) -> Command {
    let number = |name: &'static str, value: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name(value).help(help)
    };
    // None of it would be a run that tried nothing and says that all held.
    let from_one = whole::<u64>(1, u64::MAX);
    command
        .about("Try on this machine what inbox promises: kills, races, stopped workers, clocks, crowds")
        .long_about(
            "Try on this machine what inbox promises: kills, races, stopped workers, clocks, crowds\n\nEverything happens on scratch stores in a folder beside the store, or in PostgreSQL in schemas of their own; the store itself is not opened. The page says what was tried and what held. Each part goes on in rounds that come again with their seed, and what did not hold comes with the command that shows it again.",
        )
        .arg(
            number("seconds", "N", "Take so long, for all parts together")
                .value_parser(from_one.clone())
                .default_value(SECONDS)
                .conflicts_with_all(["rounds", "round"]),
        )
        .arg(
            number("rounds", "N", "Go so many rounds in each part instead")
                .value_parser(from_one)
                .conflicts_with("round"),
        )
        .arg(
            number("round", "N", "Go this round of each part, to see it again")
                .value_parser(whole::<u64>(0, u64::MAX)),
        )
        .arg(
            number("seed", "N", "Throw the dice of this seed [default: another each time]")
                .value_parser(whole::<u64>(0, u64::MAX)),
        )
        .arg(suggest(
            Arg::new("only")
                .long("only")
                .value_name("PART,…")
                .value_delimiter(',')
                .action(ArgAction::Append)
                .help("Try these parts alone"),
            PARTS.iter().map(|part| part.name()),
        ))
        .arg(
            Arg::new("keep")
                .long("keep")
                .action(ArgAction::SetTrue)
                .help("Leave the scratch stores behind, as happens when a promise did not hold"),
        )
        .arg(
            Arg::new("skip-ok")
                .long("skip-ok")
                .action(ArgAction::SetTrue)
                .help("Succeed also where none of it can be tried, and all is skipped"),
        )
}

/// Runs as a worker of the torture, if the arguments say so.
pub(crate) fn worker(argv: &[OsString]) -> Option<ExitCode> {
    let args = argv.iter().skip(1);
    let args: Option<Vec<String>> = args.map(|arg| Some(arg.to_str()?.to_owned())).collect();
    let args = args?;
    let done = match args.split_first() {
        Some((name, args)) if name == worker::WORKER => {
            worker::run(args, &mut std::io::stdout().lock())
        }
        _ => keeper::called(&args)?,
    };
    Some(match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(refusal) => {
            crate::cli::print::complain(&refusal.message);
            ExitCode::from(refusal.code.exit())
        }
    })
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let plan = plan(matches, context)?;
    // All that is made here, and by the processes of the torture, is this user's alone.
    rustix::process::umask(rustix::fs::Mode::RWXG | rustix::fs::Mode::RWXO);
    let stop = Arc::new(AtomicBool::new(false));
    stop_when_told(Arc::clone(&stop))?;
    let report = play(&plan, &stop, &mut |line| context.printer.in_place(line));
    context.printer.in_place("");
    show(&report?, matches.get_flag("skip-ok"), context)
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

/// Sets `stop` when the process is told to stop, and ends it at once when it is told again: who stays behind then cleans up. It
/// listens from here on: what is made afterwards is taken away again.
fn stop_when_told(stop: Arc<AtomicBool>) -> Result<(), Refusal> {
    let no_signals =
        |error: std::io::Error| Refusal::new(Code::Internal, format!("no signals: {error}"));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(no_signals)?;
    let (mut interrupt, mut terminate, mut hang_up) = {
        let _inside = runtime.enter();
        let on = |kind| signal(kind).map_err(no_signals);
        (
            on(SignalKind::interrupt())?,
            on(SignalKind::terminate())?,
            on(SignalKind::hangup())?,
        )
    };
    std::thread::spawn(move || {
        let mut told = || {
            runtime.block_on(async {
                tokio::select! {
                    _ = interrupt.recv() => {}
                    _ = terminate.recv() => {}
                    _ = hang_up.recv() => {}
                }
            });
        };
        told();
        stop.store(true, Ordering::SeqCst);
        let first = Instant::now();
        // Some send one wish twice: `timeout` to the process, and to the group that it is in.
        while first.elapsed() < AGAIN {
            told();
        }
        end_at_once();
    });
    Ok(())
}

/// Ends without a page, whatever is under way.
#[expect(
    clippy::exit,
    reason = "who was told twice waits for nobody, and what is left is taken away by who stays behind"
)]
fn end_at_once() -> ! {
    std::process::exit(i32::from(inbox_core::error::EXIT_NOTHING))
}

fn show(report: &Report, may_skip: bool, context: &Context) -> Result<Ended, Refusal> {
    let refusal = |code: Code, row: &Row| {
        let why = row.why.clone().unwrap_or_default();
        Refusal::new(code, format!("{}: {why}", row.part))
            .hint(row.replay.clone().unwrap_or_default())
            .detail("part", row.part)
            .detail("promise", row.promise)
    };
    let broken = report.broken().map(|row| refusal(Code::PromiseBroken, row));
    let faults = report.faults().map(|row| refusal(Code::Internal, row));
    let broken = broken.chain(faults).next();
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
        Some(refusal) => Ended::Failed(refusal.code),
        None if report.holds() || (may_skip && report.is_skipped()) => Ended::Something,
        // Nothing broke, and not everything was tried.
        None => Ended::Nothing,
    })
}
