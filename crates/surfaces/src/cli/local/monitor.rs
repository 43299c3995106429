//! `monitor`: what an agent's client runs beside a session, to wake it when it is idle.
//!
//! It prints one line for each wake and nothing else. It lives as long as its client: one that ended early
//! would be reported to the agent in every folder without a store, and that costs more than waiting.

use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command};
use inbox_core::{Code, Refusal, SessionId};
use inbox_ops::{Caller, Inbox, Wake, Watch, Woken};
use inbox_store::bell::{Key, PATIENCE};

use super::super::print::complain;
use super::super::{Context, Ended, config, far, find, operation, wait};
use crate::far::Far;

/// How long one wait at a server is, in seconds: only between two of them is the client looked for.
const TURN: u32 = 10;

/// How long to leave a store alone that is not there or cannot be used.
const AGAIN: Duration = Duration::from_secs(5);

pub(super) fn describe(command: Command) -> Command {
    command
        .about("Print a line when there is new mail for a session, until its client ends")
        .long_about(
            "Print a line when there is new mail for a session, until its client ends\n\nA client runs it beside a session, and its lines wake the agent. Several messages are one line, at most one line in wake.at_most_every_seconds. The session is --session, or the one that the client names in the environment.",
        )
        .arg(
            Arg::new("client")
                .value_name("CLIENT")
                .required(true)
                .help("The client that runs it: claude, opencode or another that setup knows"),
        )
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let client = matches.get_one::<String>("client");
    let client: super::setup::Client = client.map_or("", String::as_str).parse()?;
    let session = session(context, client)?;
    let mut life = Life::begin();
    let mut said = String::new();
    loop {
        let outcome = match far::server(context) {
            Ok(Some(far)) => watch_far(&far, &session, &mut life, context),
            Ok(None) => operation::open(context)
                .and_then(|inbox| watch(&inbox, &session, &mut life, context)),
            Err(refusal) => Err(refusal),
        };
        let Err(refusal) = outcome else {
            return Ok(Ended::Something);
        };
        // A folder without a store is the usual case, and `inbox init` may come; a session begins with its first hook.
        let is_usual = matches!(refusal.code, Code::StoreNotFound | Code::SessionNotFound);
        if !is_usual && said != refusal.message {
            complain(&format!("inbox monitor: {}", refusal.message));
            said = refusal.message;
        }
        if !life.goes_on_for(AGAIN) {
            return Ok(Ended::Something);
        }
    }
}

fn session(context: &Context, client: super::setup::Client) -> Result<SessionId, Refusal> {
    if let Some(session) = &context.session {
        return Ok(session.clone());
    }
    let variable = client.session_variable();
    let named = match variable {
        Some(variable) => find::from_environment(variable)?,
        None => None,
    };
    named.ok_or_else(|| {
        let message = match variable {
            Some(variable) => format!("which session? {variable} is not set"),
            None => format!("which session? {client} does not name it in the environment"),
        };
        Refusal::input(message).hint(format!("inbox monitor {client} --session ID"))
    })
}

/// Prints a line for each wake, until the client is gone.
fn watch(
    inbox: &Inbox,
    session: &SessionId,
    life: &mut Life,
    context: &Context,
) -> Result<(), Refusal> {
    let Some(caller) = introduced(inbox, session, life)? else {
        return Ok(());
    };
    let pause = inbox.config().wake.at_most_every_seconds;
    let pause = Duration::from_secs(u64::try_from(pause).unwrap_or(0));
    wait::until_over(&Wake {}, inbox, &caller, |woken, _| {
        if woken.is_left {
            return Ok(false);
        }
        if !context.printer.stream_item(woken)? {
            return Ok(false);
        }
        woken.offered(inbox, &caller)?;
        // What comes meanwhile waits in the store and is one wake.
        Ok(life.goes_on_for(pause))
    })?;
    Ok(())
}

/// The same at a server, which is asked in turns.
fn watch_far(
    far: &Far,
    session: &SessionId,
    life: &mut Life,
    context: &Context,
) -> Result<(), Refusal> {
    let caller = Caller {
        session: Some(session.clone()),
        ..Caller::local(None)
    };
    let pause = config::load_here(None)?.wake.at_most_every_seconds;
    let pause = Duration::from_secs(u64::try_from(pause).unwrap_or(0));
    while !life.is_over() {
        let found = far.call(&Wake::glance(true), &caller)?;
        let woken = Woken::from(&found);
        if woken.line.is_some() {
            if !context.printer.stream_item(&woken)? {
                return Ok(());
            }
            far.call(&Wake::glance(false), &caller)?;
            if !life.goes_on_for(pause) {
                return Ok(());
            }
            continue;
        }
        let request = Watch {
            after_event: Some(found.next_event_id),
            timeout_seconds: Some(TURN),
            ..Watch::default()
        };
        far::until_over(far, &request, &caller, |_, _| Ok(false))?;
    }
    Ok(())
}

/// The caller by its session, as soon as the session has begun; nobody when the client ends before.
fn introduced(
    inbox: &Inbox,
    session: &SessionId,
    life: &mut Life,
) -> Result<Option<Caller>, Refusal> {
    let mut listener = inbox.store().listen(&Key::Any);
    loop {
        listener.rearm();
        let caller = Caller {
            session: Some(session.clone()),
            ..Caller::local(None)
        };
        let caller = inbox.introduce(caller)?;
        if caller.agent.is_some() {
            return Ok(Some(caller));
        }
        if life.is_over() {
            return Ok(None);
        }
        listener.wait(PATIENCE);
    }
}

/// The life of whoever started this process and reads what it prints.
struct Life {
    parent: Option<rustix::process::Pid>,
}

impl Life {
    fn begin() -> Self {
        Life {
            parent: rustix::process::getppid(),
        }
    }

    fn is_over(&self) -> bool {
        rustix::process::getppid() != self.parent || wait::reader_has_gone()
    }

    /// Waits so long; whether there is still somebody to wait for.
    fn goes_on_for(&mut self, time: Duration) -> bool {
        let end = Instant::now() + time;
        loop {
            if self.is_over() {
                return false;
            }
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return true;
            }
            std::thread::sleep(left.min(PATIENCE));
        }
    }
}
