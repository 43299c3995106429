//! Where a monitor looks for mail: a store that is here, or a server.

use std::time::{Duration, Instant};

use inbox_core::{Door, Refusal, SessionId, SessionState};
use inbox_ops::{Caller, Glanced, Inbox, Operation, Watch, Woken};
use inbox_store::bell::{Key, PATIENCE};

use super::life::Life;
use crate::cli::{Context, config, far, operation, wait};
use crate::far::Far;

/// How long one wait at a server is, in seconds: only between two of them is the client looked for.
const TURN: u32 = 10;

/// How long until a session without a window is looked at again.
const UNATTENDED: Duration = Duration::from_secs(10);

/// A store or a server, and the session's agent at it.
pub(super) enum Desk {
    Here {
        inbox: Box<Inbox>,
        caller: Caller,
        beats: wait::Beats,
    },
    There {
        far: Box<Far>,
        caller: Caller,
    },
}

/// What a look has found.
pub(super) enum Found {
    /// Mail, or none.
    Mail(Glanced),
    /// The session has ended.
    Ended,
    /// The session was put aside, and its mail waits.
    Aside,
}

impl Found {
    fn at(inbox: &Inbox, caller: &Caller) -> Result<Self, Refusal> {
        let row = match &caller.session {
            Some(id) => inbox.store().read(|tx| Ok(tx.session(id)?))?,
            None => None,
        };
        match row.map(|row| (row.set_state, row.session.state)) {
            None | Some((SessionState::Dead, _)) => return Ok(Found::Ended),
            Some((SessionState::Frozen, _)) => return Ok(Found::Aside),
            // The machine slept: its client is there, or nobody would look.
            Some((SessionState::Alive, SessionState::Dead)) => inbox.beat(caller)?,
            Some((SessionState::Alive, _)) => {}
        }
        Ok(Found::Mail(Woken::look().run(inbox, caller)?))
    }

    /// Whether the session is there and has nothing to be told of.
    fn is_nothing(&self) -> bool {
        matches!(self, Found::Mail(found) if found.headers.is_empty())
    }
}

impl Desk {
    /// Opens it, as soon as the session has begun; nothing when the client ends before.
    pub(super) fn open(
        context: &Context,
        session: &SessionId,
        life: &mut Life,
    ) -> Result<Option<Self>, Refusal> {
        let caller = Caller {
            session: Some(session.clone()),
            ..Caller::local(None)
        };
        if let Some(far) = far::server(context)? {
            return Ok(Some(Desk::There {
                far: Box::new(far),
                caller,
            }));
        }
        wait::be_woken_with_others();
        let inbox = operation::open(context)?;
        let mut listener = inbox.store().listen(&Key::Any);
        loop {
            listener.rearm();
            let caller = inbox.introduce(caller.clone())?;
            if caller.agent.is_some() {
                drop(listener);
                return Ok(Some(Desk::Here {
                    inbox: Box::new(inbox),
                    caller,
                    beats: wait::Beats::default(),
                }));
            }
            if life.is_over() {
                return Ok(None);
            }
            listener.wait(PATIENCE);
        }
    }

    /// How much time is between two wakes.
    pub(super) fn pause(&self) -> Result<Duration, Refusal> {
        let seconds = match self {
            Desk::Here { inbox, .. } => inbox.config().wake.at_most_every_seconds,
            Desk::There { .. } => config::load_here(None)?.wake.at_most_every_seconds,
        };
        Ok(Duration::from_secs(u64::try_from(seconds).unwrap_or(0)))
    }

    /// Looks whether there is anything.
    pub(super) fn look(&self) -> Result<Found, Refusal> {
        match self {
            Desk::Here { inbox, caller, .. } => Found::at(inbox, caller),
            Desk::There { far, caller } => Ok(Found::Mail(far.call(&Woken::look(), caller)?)),
        }
    }

    /// Writes down that the client was told by this door.
    pub(super) fn note(&self, door: Door, found: &Glanced) -> Result<(), Refusal> {
        let note = Woken::note(door, found);
        match self {
            Desk::Here { inbox, caller, .. } => note.run(inbox, caller).map(drop),
            Desk::There { far, caller } => far.call(&note, caller).map(drop),
        }
    }

    /// Waits for something new, and looks after a while in any case.
    pub(super) fn wait(
        &mut self,
        found: &Glanced,
        is_attended: bool,
        life: &Life,
    ) -> Result<(), Refusal> {
        match self {
            Desk::Here {
                inbox,
                caller,
                beats,
            } => {
                let key = caller.agent.as_ref().map_or(Key::Any, Key::from);
                let mut listener = inbox.store().listen(&key);
                listener.rearm();
                let mark = inbox.store().change_mark();
                // What came between the look and the ring is seen by a look after the bell was noted.
                if !Found::at(inbox, caller)?.is_nothing() {
                    return Ok(());
                }
                let until = Instant::now() + UNATTENDED;
                loop {
                    // A session that nobody has before them is not kept alive.
                    if is_attended {
                        beats.now_and_then(inbox, caller);
                    }
                    let rang = listener.wait(PATIENCE);
                    let is_same = mark.is_some() && inbox.store().change_mark() == mark;
                    if rang || !is_same || life.is_over() {
                        return Ok(());
                    }
                    if !is_attended && Instant::now() > until {
                        return Ok(());
                    }
                }
            }
            Desk::There { far, caller } => {
                let request = Watch {
                    after_event: Some(found.next_event_id),
                    timeout_seconds: Some(TURN),
                    ..Watch::default()
                };
                far::until_over(far, &request, caller, |_, _| Ok(false))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use inbox_ops::{SessionEnd, SessionStart};
    use inbox_store::{Location, Store};

    use super::super::super::setup::Client;
    use super::*;

    #[test]
    fn a_session_that_ended_before_the_bell_was_heard_is_not_waited_for() {
        let name = format!("inbox-desk-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        let location = Location::File(folder.join("store.db"));
        Store::init(&location).unwrap();
        let inbox = Inbox::new(Store::open(&location).unwrap());
        let caller = Caller {
            session: Some("s-1".parse().unwrap()),
            ..Caller::local(Some("quinn".parse().unwrap()))
        };
        SessionStart::default().run(&inbox, &caller).unwrap();
        let mut desk = Desk::Here {
            inbox: Box::new(Inbox::new(Store::open(&location).unwrap())),
            caller: caller.clone(),
            beats: wait::Beats::default(),
        };
        let Ok(Found::Mail(found)) = desk.look() else {
            panic!("it has begun");
        };
        SessionEnd::default().run(&inbox, &caller).unwrap();
        // A client that lives as long as this process, which would be waited for.
        let own = rustix::process::getpid().as_raw_nonzero().get();
        let life = Life::begin(Client::Codex, Some(own)).unwrap();
        let (tell, over) = channel();
        std::thread::spawn(move || {
            desk.wait(&found, true, &life).unwrap();
            tell.send(matches!(desk.look(), Ok(Found::Ended))).unwrap();
        });
        let outcome = over.recv_timeout(Duration::from_mins(1));
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(outcome, Ok(true));
    }
}
