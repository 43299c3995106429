//! How each agent on the roster learns of mail while it is idle, and what to do where nothing wakes it.

use inbox_core::{AgentKind, Session, SessionState};
use inbox_ops::{Caller, SessionList};
use inbox_store::Store;

use super::Check;
use crate::cli::local::presence::{Presence, Standing};
use crate::cli::local::setup::wiring::Wiring;
use crate::cli::{Context, far};

/// How many sessions are looked at, and how many names are said.
const MOST: usize = 50;

/// What is found of a session's doors.
pub(crate) struct Doors {
    /// Those that work, the one that wakes it first.
    pub(crate) open: Vec<String>,
    /// What is to be said of them.
    pub(crate) note: Option<String>,
    hint: Option<String>,
}

impl Doors {
    /// The doors of a session, as this machine knows them. How its client is wired is not looked at, which takes long.
    pub(crate) fn of(session: &Session) -> Self {
        let presence = Presence::of(&session.session_id);
        doors(session.client.as_deref(), presence.as_ref(), None)
    }
}

/// One finding for each living session, and one for the agents without any.
pub(super) fn of_roster(store: &Store, clients: &[Wiring]) -> Vec<Check> {
    let found = store.read(|tx| Ok((tx.agents(None)?, tx.sessions(None)?)));
    let Ok((agents, sessions)) = found else {
        // What is wrong with the store is said by other checks.
        return Vec::new();
    };
    let mut checks: Vec<Check> = sessions
        .iter()
        .map(|row| &row.session)
        .filter(|session| session.state != SessionState::Dead)
        .take(MOST)
        .map(|session| of_session(session, clients))
        .collect();
    let away: Vec<&str> = agents
        .iter()
        .map(|details| &details.agent)
        .filter(|agent| agent.kind == AgentKind::Agent)
        .filter(|agent| {
            !matches!(
                agent.state,
                Some(SessionState::Alive | SessionState::Frozen)
            )
        })
        .map(|agent| agent.agent_id.as_str())
        .take(MOST)
        .collect();
    if !away.is_empty() {
        let message = format!("{}: no session; mail waits for the next", away.join(", "));
        checks.push(Check::ok("wake", message));
    }
    checks
}

/// One finding for each living session that a server knows. What is wrong with the server is said by other checks.
pub(super) fn at_server(context: &Context, clients: &[Wiring]) -> Vec<Check> {
    let Ok(Some(server)) = far::server(context) else {
        return Vec::new();
    };
    let found = server.call(&SessionList::default(), &Caller::local(None));
    let sessions = found.map_or_else(|_| Vec::new(), |found| found.sessions);
    sessions
        .iter()
        .take(MOST)
        .map(|session| of_session(session, clients))
        .collect()
}

fn of_session(session: &Session, clients: &[Wiring]) -> Check {
    let client = session.client.as_deref();
    let presence = Presence::of(&session.session_id);
    let wiring = clients.iter().find(|wiring| Some(wiring.client) == client);
    let doors = doors(client, presence.as_ref(), wiring);
    let who = format!(
        "{} ({}{})",
        session.agent_id,
        client
            .map(|client| format!("{client} "))
            .unwrap_or_default(),
        session.session_id
    );
    let mut said = doors.open.join(", ");
    if let Some(note) = &doors.note {
        said = if said.is_empty() {
            note.clone()
        } else {
            format!("{said}; {note}")
        };
    }
    let message = format!("{who}: {said}");
    let check = match &doors.hint {
        Some(hint) => Check::warning("wake", message, hint),
        None => Check::ok("wake", message),
    };
    check.of_session(session, doors.open)
}

/// The doors of one session.
fn doors(client: Option<&str>, presence: Option<&Presence>, wiring: Option<&Wiring>) -> Doors {
    let found = |open: &[&str], note: Option<String>, hint: Option<String>| Doors {
        open: open.iter().map(|door| (*door).to_owned()).collect(),
        note,
        hint,
    };
    let Some(client) = client else {
        let note = "no client; it has to look itself".to_owned();
        return found(
            &[],
            Some(note),
            Some("inbox watch in its shell waits for mail".to_owned()),
        );
    };
    let is_heard = presence.is_some_and(|presence| presence.standing() != Standing::Unknown);
    let watched = presence.and_then(Presence::watched_by);
    match &watched {
        None => {}
        Some(watcher) if watcher.is_kept_waiting => {
            let note = format!("{client} has not taken the last line of {}", watcher.door);
            let hint = "codex queue --thread SESSION --message TEXT says why".to_owned();
            return found(&["next_turn"], Some(note), Some(hint));
        }
        Some(watcher) if !watcher.has_window => {
            let note = format!(
                "no window of {client} shows it; {} waits for one",
                watcher.door
            );
            return found(&["next_turn"], Some(note), None);
        }
        Some(watcher) => {
            let open = [watcher.door.as_str(), "next_turn"];
            return found(if is_heard { &open } else { &open[..1] }, None, None);
        }
    }
    if !is_heard {
        let note = "no hook of it has run on this machine".to_owned();
        // Codex does not run hooks that nobody has approved.
        let hint = wiring.filter(|wiring| !wiring.is_fine).map_or_else(
            || format!("inbox doctor on the machine that it runs on; if it is this one, start {client} again"),
            |wiring| wiring.hint.clone(),
        );
        return found(&[], Some(note), Some(hint));
    }
    let (note, hint) = match client {
        "claude" => (
            "its monitor does not run; at the end of its next turn async_rewake takes over",
            Some("/reload-plugins in Claude Code starts the monitor; inbox setup claude writes it"),
        ),
        "codex" => (
            "nobody watches for codex_queue",
            Some(
                "codex: the next prompt in this session starts it, if inbox's hooks are approved in /hooks",
            ),
        ),
        "opencode" => (
            "its plugin does not watch",
            Some("inbox setup opencode, then start opencode again"),
        ),
        // They have no door for a session that is idle.
        _ => ("its client has no door while it is idle", None),
    };
    found(
        &["next_turn"],
        Some(note.to_owned()),
        hint.map(str::to_owned),
    )
}
