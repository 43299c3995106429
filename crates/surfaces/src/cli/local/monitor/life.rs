//! The life of the client that a monitor belongs to.

use std::time::{Duration, Instant};

use inbox_core::{Door, Refusal};
use inbox_store::bell::PATIENCE;
use rustix::process::Pid;

use super::super::presence::Presence;
use super::super::process::Process;
use super::super::setup::Client;
use crate::cli::{find, wait};

/// The life of whoever is woken, and of whoever started this process and reads what it prints.
pub(super) struct Life {
    /// Who started it, where that counts: a hook that starts a watch ends at once.
    parent: Option<Pid>,
    /// The process of the client, where it is known.
    client: Option<Process>,
    /// The session, where the client's own monitor is to have the watch as soon as it is there.
    yields: Option<Presence>,
    has_reader: bool,
}

impl Life {
    pub(super) fn begin(
        client: Client,
        door: Door,
        process: Option<i32>,
        presence: Option<&Presence>,
    ) -> Result<Self, Refusal> {
        let known = match (process, client) {
            (Some(number), _) => Some(Process::numbered(number).ok_or_else(|| {
                Refusal::input(format!("there is no process {number}")).hint(format!(
                    "inbox monitor {client} --session ID, without --process"
                ))
            })?),
            // A shell is between the two, and outlives its client.
            (None, Client::Claude) => find::variable("CLAUDE_PID")
                .and_then(|number| Process::numbered(number.parse().ok()?)),
            _ => None,
        };
        let is_apart = process.is_some();
        Ok(Life {
            parent: rustix::process::getppid().filter(|_| !is_apart),
            client: known,
            yields: presence.filter(|_| door == Door::AsyncRewake).cloned(),
            has_reader: !is_apart,
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
