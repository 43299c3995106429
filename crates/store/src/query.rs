//! What is read: candidates, lists, histories, events. Nothing here changes anything.

use inbox_core::record::Millis;
use inbox_core::sabotage::planted;
use inbox_core::{
    Address, AgentName, Artifact, Event, EventId, Kind, Message, RefType, Status, ThreadId,
};

use serde_json::Value;

use crate::error::StoreError;
use crate::mail::Reached;
use crate::row::{self, ThreadRow};
use crate::sql::{self, Sql};
use crate::tx::Tx;
use crate::value::Param;

/// A scheduler's labels to filter by; what is not set matches all.
#[derive(Debug, Clone, Default)]
pub struct Labels {
    /// With this run.
    pub run: Option<String>,
    /// With this task.
    pub task: Option<String>,
}

impl Labels {
    fn params(&self) -> [Param<'_>; 2] {
        [self.run.as_deref().into(), self.task.as_deref().into()]
    }

    /// What the statements that look for work are asked with.
    pub(crate) fn candidates<'a>(
        &'a self,
        stored: &'a str,
        clock: Option<Millis>,
        limit: i64,
    ) -> [Param<'a>; 5] {
        let [run, task] = self.params();
        let clock = clock.map(|now| now.0).into();
        [stored.into(), clock, run, task, limit.into()]
    }
}

/// Which threads `list` gives; what is not set matches all.
#[derive(Debug, Clone, Default)]
pub struct ThreadFilter {
    /// These statuses; none means every one.
    pub status: Vec<Status>,
    /// Opened by this agent.
    pub created_by: Option<AgentName>,
    /// Held by this agent, or waiting for this address.
    pub assigned_to: Option<String>,
    /// With these labels.
    pub labels: Labels,
    /// Created by, held by or addressed to this agent.
    pub agent: Option<AgentName>,
    /// Older than this thread; `list_changed` has its own order and does not look at it.
    pub before: Option<ThreadId>,
}

/// Which events a watcher wakes on; what is not set matches all.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    /// Events that left one of these statuses; none means every one.
    pub status: Vec<Status>,
    /// In threads with these labels.
    pub labels: Labels,
    /// In this thread.
    pub thread: Option<ThreadId>,
    /// By others, in threads that this agent created, holds or is reached by.
    pub agent: Option<AgentName>,
}

/// The set of words as bits; an empty list is every word.
fn bits<W: Copy>(words: &[W], bit: impl Fn(W) -> i64) -> i64 {
    if words.is_empty() {
        i64::from(i16::MAX)
    } else {
        words.iter().fold(0, |set, &word| set | bit(word))
    }
}

impl Tx<'_> {
    pub(crate) fn threads(
        &mut self,
        sql: &'static Sql,
        params: &[Param<'_>],
    ) -> Result<Vec<ThreadRow>, StoreError> {
        self.rows(sql, params)?
            .iter_mut()
            .map(ThreadRow::read)
            .collect()
    }

    /// Work for an address that could be claimed now: pending, then with a lease that ran out; each in
    /// the order in which claims take it.
    pub fn claimable(
        &mut self,
        labels: &Labels,
        address: &Address,
        limit: i64,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        self.candidates(&sql::QUEUED, labels, address, limit)
    }

    /// The same, for a transaction that will claim the best of them.
    pub fn claimable_to_take(
        &mut self,
        labels: &Labels,
        address: &Address,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        self.candidates(&sql::TAKE_QUEUED, labels, address, 1)
    }

    /// Says that the work of an address will be claimed.
    pub fn foresee_claim(&mut self, labels: &Labels, address: &Address) {
        let stored = address.stored();
        let params = labels.candidates(&stored, self.clock(), 1);
        self.foresee_one(&sql::TAKE_QUEUED, &params);
        self.foresee_one(&sql::LAPSED, &params);
    }

    fn candidates(
        &mut self,
        queued: &'static Sql,
        labels: &Labels,
        address: &Address,
        limit: i64,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        let stored = address.stored();
        let params = labels.candidates(&stored, self.clock(), limit);
        let mut found = self.threads(queued, &params)?;
        found.extend(self.threads(&sql::LAPSED, &params)?);
        Ok(found)
    }

    /// Work for an address by stored status, claimable or not.
    pub fn reached_by_status(
        &mut self,
        labels: &Labels,
        reached: &Reached,
        status: &[Status],
        limit: i64,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        let now = self.now().0;
        let [run, task] = labels.params();
        let mut found = Vec::new();
        let mut others = status.to_vec();
        // Pending work has an index of its own, and there may be a million of it.
        if status.contains(&Status::Pending) {
            let stored = reached.address.stored();
            let params = labels.candidates(&stored, self.clock(), limit);
            found = self.threads(&sql::QUEUED, &params)?;
            others.retain(|&status| status != Status::Pending);
        }
        if !others.is_empty() {
            let set = bits(&others, Status::bit);
            let params = [
                reached.address_no.into(),
                set.into(),
                now.into(),
                run,
                task,
                limit.into(),
            ];
            found.extend(self.threads(&sql::REACHED_BY_STATUS, &params)?);
        }
        Ok(found)
    }

    /// Whether the thread has a message by somebody else that the agent has not read.
    pub fn has_unread(
        &mut self,
        thread: ThreadId,
        agent_no: Option<i64>,
    ) -> Result<bool, StoreError> {
        let agent_no = agent_no.unwrap_or(0);
        Ok(self
            .first(&sql::HAS_UNREAD, &[thread.key().into(), agent_no.into()])?
            .is_some())
    }

    /// Threads that match, newest first.
    pub fn list(
        &mut self,
        filter: &ThreadFilter,
        limit: i64,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        let mut params = filter.reach(self.dead_since()).to_vec();
        params.extend(filter.params());
        let before = filter.before.map_or(i64::MAX, ThreadId::key);
        params.push(before.into());
        params.push(limit.into());
        self.threads(&sql::LIST_THREADS, &params)
    }

    /// Threads that somebody holds, or held until a lease ran out; those whose lease ends first, first.
    pub fn held_threads(&mut self, limit: i64) -> Result<Vec<ThreadRow>, StoreError> {
        self.threads(&sql::HELD_THREADS, &[limit.into()])
    }

    /// Threads that match and have an event after `after`, each with its newest event; those that
    /// changed longest ago first.
    pub fn list_changed(
        &mut self,
        filter: &ThreadFilter,
        after: EventId,
        limit: i64,
    ) -> Result<Vec<(EventId, ThreadRow)>, StoreError> {
        let mut params = filter.reach(self.dead_since()).to_vec();
        params.push(after.0.into());
        params.extend(filter.params());
        params.push(limit.into());
        let mut rows = self.rows(&sql::LIST_CHANGED, &params)?;
        rows.iter_mut()
            .map(|row| {
                let thread = ThreadRow::read(row)?;
                Ok((EventId(row.int()?), thread))
            })
            .collect()
    }

    /// The thread that was opened for an address of its own.
    pub fn thread_of_address(
        &mut self,
        address: &Address,
    ) -> Result<Option<ThreadRow>, StoreError> {
        let Some(address_no) = self.find_address(address)? else {
            return Ok(None);
        };
        match self.one_int(&sql::THREAD_OF_ADDRESS, &[address_no.into()])? {
            Some(thread_no) => self.load_thread(ThreadId::new(thread_no)),
            None => Ok(None),
        }
    }

    /// The payload of the message that opened a thread.
    pub fn opening_payload(&mut self, thread: ThreadId) -> Result<Option<Value>, StoreError> {
        match self.first(&sql::OPENING_PAYLOAD, &[thread.key().into()])? {
            Some(mut row) => row::read_json(&mut row).map(Some),
            None => Ok(None),
        }
    }

    /// Threads about an entity, the newest first.
    pub fn threads_by_ref(
        &mut self,
        ref_type: RefType,
        ref_id: &str,
        limit: i64,
    ) -> Result<Vec<ThreadRow>, StoreError> {
        let params = [ref_id.into(), ref_type.code().into(), limit.into()];
        self.threads(&sql::THREADS_BY_REF, &params)
    }

    /// Every message of a thread, oldest first.
    pub fn messages(&mut self, thread: ThreadId) -> Result<Vec<Message>, StoreError> {
        let numbered = self.numbered_messages(thread)?.into_iter();
        Ok(numbered.map(|(_, message)| message).collect())
    }

    /// The same, each with its event.
    pub fn numbered_messages(
        &mut self,
        thread: ThreadId,
    ) -> Result<Vec<(EventId, Message)>, StoreError> {
        self.rows(&sql::MESSAGES_OF_THREAD, &[thread.key().into()])?
            .iter_mut()
            .map(row::read_message)
            .collect()
    }

    /// Every artifact of a thread, oldest first.
    pub fn artifacts(&mut self, thread: ThreadId) -> Result<Vec<Artifact>, StoreError> {
        self.rows(&sql::ARTIFACTS_OF_THREAD, &[thread.key().into()])?
            .iter_mut()
            .map(row::read_artifact)
            .collect()
    }

    /// The oldest message after `after` of one of these kinds that `not_by` did not write.
    pub fn next_reply(
        &mut self,
        thread: ThreadId,
        after: EventId,
        kinds: &[Kind],
        not_by: Option<&AgentName>,
    ) -> Result<Option<(EventId, Message)>, StoreError> {
        let set = bits(kinds, Kind::bit);
        let params = [
            thread.key().into(),
            cursor(after),
            set.into(),
            not_by.map(AgentName::as_str).into(),
        ];
        self.first(&sql::NEXT_REPLY, &params)?
            .map(|mut row| row::read_message(&mut row))
            .transpose()
    }

    /// The event of an agent's newest message in a thread.
    pub fn latest_message_by(
        &mut self,
        thread: ThreadId,
        agent: &AgentName,
    ) -> Result<Option<EventId>, StoreError> {
        let found = self.one_int(
            &sql::LATEST_MESSAGE_BY,
            &[thread.key().into(), agent.as_str().into()],
        )?;
        Ok(found.map(EventId))
    }

    /// Events after `after` that match, oldest first.
    pub fn events_after(
        &mut self,
        after: EventId,
        filter: &EventFilter,
        limit: i64,
    ) -> Result<Vec<Event>, StoreError> {
        let [run, task] = filter.labels.params();
        let params = [
            filter.agent.as_ref().map(AgentName::as_str).into(),
            self.dead_since().0.into(),
            cursor(after),
            bits(&filter.status, Status::bit).into(),
            run,
            task,
            filter.thread.map(ThreadId::key).into(),
            limit.into(),
        ];
        self.rows(&sql::EVENTS_AFTER, &params)?
            .iter_mut()
            .map(row::read_event)
            .collect()
    }

    /// How many threads, messages, events and agents there are.
    pub fn counts(&mut self) -> Result<[i64; 4], StoreError> {
        let Some(mut row) = self.first(&sql::COUNTS, &[])? else {
            return Ok([0; 4]);
        };
        Ok([row.int()?, row.int()?, row.int()?, row.int()?])
    }
}

fn cursor(after: EventId) -> Param<'static> {
    Param::Int(if planted("cursor_inclusive") {
        after.0 - 1
    } else {
        after.0
    })
}

impl ThreadFilter {
    fn reach(&self, dead_since: Millis) -> [Param<'_>; 2] {
        let agent = self.agent.as_ref().map(AgentName::as_str);
        [agent.into(), dead_since.0.into()]
    }

    fn params(&self) -> [Param<'_>; 5] {
        let [run, task] = self.labels.params();
        [
            bits(&self.status, Status::bit).into(),
            self.created_by.as_ref().map(AgentName::as_str).into(),
            self.assigned_to.as_deref().into(),
            run,
            task,
        ]
    }
}
