//! `monitor`: what runs beside a session of an agent's client, to wake it when it is idle.
//!
//! One process watches for a session: whoever has the lock. It makes one wake of all that is new, at most as often as
//! the recipient has configured, and only while the session waits for its user: in the midst of a turn the hooks
//! tell of mail. It lives as long as its client: one that ended early would be reported to the agent in every
//! folder without a store, and that costs more than waiting.

mod desk;
mod knock;
mod life;

use std::time::{Duration, Instant};

use clap::{Arg, ArgMatches, Command, value_parser};
use inbox_core::sabotage::planted;
use inbox_core::{Code, Door, Refusal, SessionId};
use inbox_ops::Woken;
use inbox_store::bell::PATIENCE;

use self::desk::{Desk, Found};
use self::knock::Knock;
use self::life::Life;
use super::presence::{Presence, Standing, Watch};
use super::setup::Client;
use crate::cli::print::complain;
use crate::cli::{Context, Ended, find};

pub(super) use self::knock::start_for_codex;

/// How long to leave a store alone that is not there or cannot be used.
const AGAIN: Duration = Duration::from_secs(5);

/// How long a door is left alone that did not open.
const SHUT: Duration = Duration::from_secs(30);

/// How long Claude Code's hook waits for the turn to end at whose end it was started.
const TURNS_END: Duration = Duration::from_secs(10);

/// How long a session without a window is watched for: its next prompt starts another watch.
const UNATTENDED: Duration = Duration::from_hours(1);

pub(super) fn describe(command: Command) -> Command {
    command
        .about("Print a line when there is new mail for a session, until its client ends")
        .long_about(
            "Print a line when there is new mail for a session, until its client ends\n\nA client runs it beside a session, and its lines wake the agent. Several messages are one line, at most one line in wake.at_most_every_seconds, and none in the midst of a turn. The session is --session, or the one that the client names in the environment. With another door than the client's own monitor it prints no lines: codex_queue runs codex queue for each, async_rewake ends with status 2 and the line on standard error.",
        )
        .arg(
            Arg::new("client")
                .value_name("CLIENT")
                .required(true)
                .help("The client that runs it: claude, opencode or another that setup knows"),
        )
        .arg(
            Arg::new("door")
                .long("door")
                .value_name("DOOR")
                .value_parser(["monitor", "async_rewake", "codex_queue", "opencode_plugin"])
                .help("Wake by this door, and name it on the receipts"),
        )
        .arg(
            Arg::new("process")
                .long("process")
                .value_name("NUMBER")
                .value_parser(value_parser!(i32))
                .help("Live as long as this process of the client, and not as the one that started it"),
        )
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let client = matches.get_one::<String>("client");
    let client: Client = client.map_or("", String::as_str).parse()?;
    let door = match matches.get_one::<String>("door") {
        Some(door) => door.parse()?,
        None => client.door(),
    };
    let named = session(context, client)?;
    // A session that is named by hand stays the one that is meant.
    let follows =
        door == Door::Monitor && (context.is_clients_session || context.session.is_none());
    let process = matches.get_one::<i32>("process").copied();
    if door == Door::AsyncRewake && !is_attended_claude() {
        return Ok(Ended::Something);
    }
    let mut life = Life::begin(client, process)?;
    loop {
        let session = life.session(client, &named, follows);
        let mut monitor = Monitor::new(client, door, session, process, life);
        let ended = if monitor.has_the_watch() {
            monitor.until_over(context)?
        } else {
            Ended::Something
        };
        if !monitor.life.has_moved() {
            return Ok(ended);
        }
        life = monitor.life;
    }
}

/// Whether a person sits before Claude Code: without one, it waits for this hook before it ends.
fn is_attended_claude() -> bool {
    find::variable("CLAUDE_CODE_ENTRYPOINT").is_none_or(|how| how == "cli")
}

fn session(context: &Context, client: Client) -> Result<SessionId, Refusal> {
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

/// One who watches for a session's mail.
struct Monitor {
    client: Client,
    door: Door,
    session: SessionId,
    presence: Option<Presence>,
    /// What says that a client's own monitor is there.
    _stands_by: Option<std::fs::File>,
    /// The right to wake it, where there is a place for that.
    watch: Option<Watch>,
    life: Life,
    knock: Knock,
    has_begun: Instant,
    /// When the session last had a window.
    attended_at: Instant,
    /// Whether it was seen to wait for its user.
    was_idle: bool,
}

/// What to do with mail that there is.
enum Now {
    Wake,
    /// Not yet: look again after so long.
    Later(Duration),
    /// This process is not needed any more.
    End,
}

impl Monitor {
    fn new(
        client: Client,
        door: Door,
        session: SessionId,
        process: Option<i32>,
        mut life: Life,
    ) -> Self {
        let presence = Presence::of(&session);
        let is_monitor = door == Door::Monitor;
        if door == Door::AsyncRewake {
            life.yields(presence.as_ref());
        }
        Monitor {
            _stands_by: presence
                .as_ref()
                .filter(|_| is_monitor)
                .and_then(Presence::stand_by),
            knock: Knock::new(door, client, &session, process),
            watch: None,
            life,
            presence,
            client,
            door,
            session,
            has_begun: Instant::now(),
            attended_at: Instant::now(),
            was_idle: false,
        }
    }

    /// Waits for its turn to watch; whether it has come. A client's own monitor stands by while another process
    /// watches, the others leave it to that one.
    fn has_the_watch(&mut self) -> bool {
        let Some(presence) = self.presence.clone() else {
            return true;
        };
        presence.sweep();
        let stands_by = !self.ends_with_session();
        let until = Instant::now() + AGAIN;
        loop {
            self.watch = presence.watch(self.door);
            if self.watch.is_some() {
                return true;
            }
            // Who only looks whether there is a watch has the lock for a moment.
            let is_over = !stands_by && Instant::now() > until;
            if is_over || !self.life.goes_on_for(PATIENCE / 4) {
                return false;
            }
        }
    }

    fn until_over(&mut self, context: &Context) -> Result<Ended, Refusal> {
        let mut said = String::new();
        loop {
            let refusal = match self.at_desk(context) {
                Ok(ended) => return Ok(ended),
                Err(refusal) => refusal,
            };
            // A folder without a store is the usual case, and `inbox init` may come; a session begins with its
            // first hook.
            let is_usual = matches!(refusal.code, Code::StoreNotFound | Code::SessionNotFound);
            if !is_usual && said != refusal.message {
                complain(&format!("inbox monitor: {}", refusal.message));
                said = refusal.message;
            }
            if !self.life.goes_on_for(AGAIN) {
                return Ok(Ended::Something);
            }
        }
    }

    /// Wakes the session whenever there is a reason, until its client is gone.
    fn at_desk(&mut self, context: &Context) -> Result<Ended, Refusal> {
        let Some(mut desk) = Desk::open(context, &self.session, &mut self.life)? else {
            return Ok(Ended::Something);
        };
        let pause = desk.pause()?;
        while !self.life.is_over() {
            let found = match desk.look()? {
                Found::Ended if self.ends_with_session() => return Ok(Ended::Something),
                // A client's own monitor ends with its client: the session may go on.
                Found::Ended | Found::Aside => {
                    self.life.goes_on_for(PATIENCE);
                    continue;
                }
                Found::Mail(found) => found,
            };
            let promised = self.watch.as_ref().and_then(Watch::promised);
            let woken = match promised {
                Some(line) => Woken::of(line),
                None => Woken::from(&found),
            };
            let Some(line) = &woken.line else {
                if !self.is_wanted() {
                    return Ok(Ended::Something);
                }
                let is_attended = self.is_attended();
                desk.wait(&found, is_attended, &self.life)?;
                continue;
            };
            match self.now(pause) {
                Now::End => return Ok(Ended::Something),
                Now::Later(time) => {
                    self.life.goes_on_for(time);
                    continue;
                }
                Now::Wake => {}
            }
            self.begin_turn();
            if self.door == Door::CodexQueue {
                // Its turn may begin before the queue says so, and what is not noted by then is told twice.
                if let Some(watch) = &mut self.watch {
                    watch.promise(line);
                }
                let noted = desk.note(self.door, &found);
                if noted.is_err() || !self.knock.wake(&woken, line, context)? {
                    self.end_turn();
                    noted?;
                    self.life.goes_on_for(SHUT);
                    continue;
                }
            } else {
                if !self.knock.wake(&woken, line, context)? {
                    return Ok(Ended::Something);
                }
                desk.note(self.door, &found)?;
            }
            if let Some(watch) = &mut self.watch {
                watch.woke();
            }
            if self.door == Door::AsyncRewake {
                return Ok(Ended::Rewake);
            }
        }
        Ok(Ended::Something)
    }

    fn ends_with_session(&self) -> bool {
        matches!(self.door, Door::AsyncRewake | Door::CodexQueue)
    }

    /// Whether the session may be woken now.
    fn now(&mut self, pause: Duration) -> Now {
        if !self.is_wanted() {
            return Now::End;
        }
        if !self.is_attended() {
            return Now::Later(AGAIN);
        }
        if self.standing() == Standing::Busy && !planted("wakes_in_a_turn") {
            return Now::Later(PATIENCE);
        }
        let rest = self.watch.as_ref().map(|watch| watch.rest(pause));
        match rest.unwrap_or_default() {
            Duration::ZERO => Now::Wake,
            rest => Now::Later(rest.min(PATIENCE)),
        }
    }

    fn standing(&self) -> Standing {
        self.presence
            .as_ref()
            .map_or(Standing::Unknown, Presence::standing)
    }

    /// Whether this process is still the one to wake the session.
    fn is_wanted(&mut self) -> bool {
        let is_attended = self.is_attended();
        let is_current = self.watch.as_ref().is_none_or(Watch::is_current);
        // The monitor of a session that has ended and goes on again takes the new watch.
        let is_current = is_current || !self.ends_with_session() && self.has_the_watch();
        if self.door != Door::AsyncRewake {
            return is_current && (is_attended || self.attended_at.elapsed() < UNATTENDED);
        }
        // The hook is started at each turn's end. In the next turn it is of no use, and the turn that it was started
        // by ends beside it.
        match self.standing() {
            Standing::Busy => !self.was_idle && self.has_begun.elapsed() < TURNS_END,
            Standing::Idle | Standing::Unknown => {
                self.was_idle = true;
                is_current
            }
        }
    }

    /// Whether somebody has the session before them. A client that keeps sessions without a window does not say
    /// which: as many as there are windows count, those that were used last.
    fn is_attended(&mut self) -> bool {
        let Some(presence) = &self.presence else {
            return true;
        };
        let is_attended = !self.life.is_a_daemons()
            || presence.later(self.client.name())
                < super::process::Process::windows(self.client.name());
        if let Some(watch) = &mut self.watch {
            watch.has_window(is_attended);
        }
        if is_attended {
            self.attended_at = Instant::now();
        }
        is_attended
    }

    /// A wake begins a turn, which lasts until the session's hooks say that it is over. Without hooks nobody would.
    fn begin_turn(&self) {
        if let Some(presence) = &self.presence
            && presence.standing() != Standing::Unknown
        {
            presence.note(self.client.name(), Standing::Busy);
        }
    }

    /// There is no turn: the client did not take the line.
    fn end_turn(&self) {
        if let Some(presence) = &self.presence
            && presence.standing() == Standing::Busy
        {
            presence.note(self.client.name(), Standing::Idle);
        }
    }
}
