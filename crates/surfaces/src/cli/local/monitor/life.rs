//! The life of the client that a monitor belongs to.

use std::time::{Duration, Instant};

use inbox_core::{Refusal, SessionId};
use inbox_store::bell::PATIENCE;
use rustix::process::Pid;

use super::super::presence::{Current, Presence};
use super::super::process::Process;
use super::super::setup::Client;
use crate::cli::wait;

/// The life of whoever is woken, and of whoever started this process and reads what it prints.
pub(super) struct Life {
    /// Who started it, where that counts: a hook that starts a watch ends at once.
    parent: Option<Pid>,
    /// The process of the client, where it is known.
    client: Option<Process>,
    /// The session, where the client's own monitor is to have the watch as soon as it is there.
    yields: Option<Presence>,
    /// The session, and where its client says that it has another one.
    follows: Option<(Current, SessionId)>,
    has_reader: bool,
}

impl Life {
    pub(super) fn begin(client: Client, process: Option<i32>) -> Result<Self, Refusal> {
        let known = match (process, client) {
            (Some(number), _) => Some(Process::numbered(number).ok_or_else(|| {
                Refusal::input(format!("there is no process {number}")).hint(format!(
                    "inbox monitor {client} --session ID, without --process"
                ))
            })?),
            // A shell is between the two, and outlives its client.
            (None, Client::Claude) => Process::of_claude(),
            _ => None,
        };
        let is_apart = process.is_some();
        Ok(Life {
            parent: rustix::process::getppid().filter(|_| !is_apart),
            client: known,
            yields: None,
            follows: None,
            has_reader: !is_apart,
        })
    }

    /// The session of the client now, where it is known better than by this name; with `follows`, this life is over
    /// when that changes.
    pub(super) fn session(
        &mut self,
        client: Client,
        named: &SessionId,
        follows: bool,
    ) -> SessionId {
        let own = self.client.as_ref().filter(|_| follows);
        let current = own.and_then(|own| Current::of(client.name(), own));
        let session = current.as_ref().and_then(Current::session);
        let session = session.unwrap_or_else(|| named.clone());
        self.follows = current.map(|current| (current, session.clone()));
        session
    }

    /// Leaves the watch for a session to its client's own monitor, as soon as that is there.
    pub(super) fn yields(&mut self, presence: Option<&Presence>) {
        self.yields = presence.cloned();
    }

    /// Whether the client has begun another session.
    pub(super) fn has_moved(&self) -> bool {
        self.follows.as_ref().is_some_and(|(current, session)| {
            current.session().is_some_and(|other| other != *session)
        })
    }

    pub(super) fn is_over(&self) -> bool {
        let is_orphan = self.parent.is_some() && rustix::process::getppid() != self.parent;
        is_orphan
            || (self.has_reader && wait::reader_has_gone())
            || self
                .client
                .as_ref()
                .is_some_and(|client| !client.is_there())
            || self.yields.as_ref().is_some_and(Presence::has_monitor)
            || self.has_moved()
    }

    /// Whether the client's sessions live in a process that goes on without any window.
    pub(super) fn is_a_daemons(&self) -> bool {
        self.client.as_ref().is_some_and(Process::is_daemon)
    }

    /// Waits so long; whether there is still somebody to wait for.
    pub(super) fn goes_on_for(&self, time: Duration) -> bool {
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
