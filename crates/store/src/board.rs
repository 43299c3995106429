//! What pages show of everything at once, each asked for in few statements: how many there are may not tell by how long it takes.

use std::collections::{BTreeMap, HashMap};

use inbox_core::{Address, AgentName, Event, EventId, Message, Mode, ThreadId};

use crate::error::StoreError;
use crate::mail::{Reached, Reader, parts};
use crate::row::{self, ThreadRow};
use crate::sql::{self, Sql};
use crate::tx::Tx;
use crate::value::Param;

/// How many numbers a statement takes that asks for several at once.
const LOADED: usize = 32;

/// The numbers as parameters; what is not filled matches nothing.
fn listed(numbers: &[i64]) -> [Param<'static>; LOADED] {
    let mut params = [Param::Null; LOADED];
    for (param, &number) in params.iter_mut().zip(numbers) {
        *param = number.into();
    }
    params
}

/// An address that many can hear, and what was said there last.
#[derive(Debug, Clone)]
pub struct Heard {
    /// A role, a tag, or all.
    pub address: Address,
    /// What was said there last, with its event.
    pub latest: Option<(EventId, Message)>,
}

impl Tx<'_> {
    /// Every role, every tag and the address of all, as far as they were ever used, by name.
    pub fn heard(&mut self, most: i64) -> Result<Vec<Heard>, StoreError> {
        let [role, tag, all] = [Mode::Role, Mode::Tag, Mode::Broadcast].map(Mode::code);
        let mut found: BTreeMap<Address, Option<i64>> = BTreeMap::new();
        for is_acked in [0, 1] {
            let params = [
                is_acked.into(),
                role.into(),
                tag.into(),
                all.into(),
                most.into(),
            ];
            for mut row in self.rows(&sql::LATEST_POSTS, &params)? {
                let text = row.text()?;
                let address = Address::from_stored(&text)
                    .map_err(|_| StoreError::Unreadable(format!("the address {text:?}")))?;
                let latest = found.entry(address).or_default();
                *latest = (*latest).max(row.maybe_int()?);
            }
        }
        let events: Vec<i64> = found.values().filter_map(|event| *event).collect();
        let mut messages = HashMap::new();
        for some in events.chunks(LOADED) {
            for mut row in self.rows(&sql::MESSAGES_OF_EVENTS, &listed(some))? {
                let _thread = ThreadRow::read(&mut row)?;
                let (event, message) = row::read_message(&mut row)?;
                messages.insert(event.0, message);
            }
        }
        Ok(found
            .into_iter()
            .map(|(address, event)| Heard {
                latest: event
                    .and_then(|event| Some((EventId(event), messages.get(&event)?.clone()))),
                address,
            })
            .collect())
    }

    /// How much each of these agents has not read, counted up to `limit`; of all, where none is named.
    pub fn unread_of(
        &mut self,
        agents: &[AgentName],
        limit: i64,
    ) -> Result<HashMap<AgentName, i64>, StoreError> {
        let names: Vec<&str> = agents.iter().map(AgentName::as_str).collect();
        let names = format!(" {} ", names.join(" "));
        let names = Some(names.as_str()).filter(|_| !agents.is_empty());
        let params = [
            self.now().0.into(),
            self.dead_since().0.into(),
            limit.into(),
            names.into(),
        ];
        let mut rows = self.rows(&sql::UNREAD_OF_AGENTS, &params)?;
        rows.iter_mut()
            .map(|row| Ok((row.parsed()?, row.int()?)))
            .collect()
    }

    /// Up to `limit` unread messages in the inbox of an address that are more urgent than usual, in the order of events.
    pub fn urgent(
        &mut self,
        reader: &Reader,
        reached: &Reached,
        limit: i64,
    ) -> Result<Vec<(EventId, Message)>, StoreError> {
        let after = self.bookmark(reader, reached)?;
        let mut found = Vec::new();
        for &is_acked in parts(reached.mode) {
            let params = self.unread_params(reader, reached, after, is_acked, limit);
            for mut row in self.rows(&sql::UNREAD_URGENT, &params)? {
                found.push(row::read_message(&mut row)?);
            }
        }
        Ok(found)
    }

    /// The newest event of all these threads.
    pub fn latest_event(
        &mut self,
        threads: impl Iterator<Item = ThreadId>,
    ) -> Result<EventId, StoreError> {
        let keys: Vec<i64> = threads.map(ThreadId::key).collect();
        let mut latest = 0;
        for some in keys.chunks(LOADED) {
            let found = self.one_int(&sql::LATEST_EVENT_OF_THREADS, &listed(some))?;
            latest = latest.max(found.unwrap_or(0));
        }
        Ok(EventId(latest))
    }

    /// What each of these threads is called.
    pub fn subjects(
        &mut self,
        threads: impl Iterator<Item = ThreadId>,
    ) -> Result<HashMap<ThreadId, String>, StoreError> {
        let keys: Vec<i64> = threads.map(ThreadId::key).collect();
        let mut subjects = HashMap::new();
        for some in keys.chunks(LOADED) {
            for mut row in self.rows(&sql::SUBJECTS_OF_THREADS, &listed(some))? {
                subjects.insert(ThreadId::new(row.int()?), row.text()?);
            }
        }
        Ok(subjects)
    }

    /// Threads that are held and blocked on a question, with the question; those whose lease ends first, first.
    pub fn blocked_asks(&mut self, limit: i64) -> Result<Vec<(ThreadRow, Message)>, StoreError> {
        self.threads_with_message(&sql::BLOCKED_ASKS, &[limit.into()])
    }

    /// Threads that a question to an address opened and that wait for an answer still, with the question; the newest first.
    pub fn asked(
        &mut self,
        reached: &Reached,
        limit: i64,
    ) -> Result<Vec<(ThreadRow, Message)>, StoreError> {
        let params = [reached.address_no.into(), limit.into()];
        self.threads_with_message(&sql::ASKED_THREADS, &params)
    }

    fn threads_with_message(
        &mut self,
        sql: &'static Sql,
        params: &[Param<'_>],
    ) -> Result<Vec<(ThreadRow, Message)>, StoreError> {
        let mut rows = self.rows(sql, params)?;
        rows.iter_mut()
            .map(|row| {
                let thread = ThreadRow::read(row)?;
                Ok((thread, row::read_message(row)?.1))
            })
            .collect()
    }

    /// The newest messages of a thread before an event, the newest first.
    pub fn newest_messages(
        &mut self,
        thread: ThreadId,
        before: EventId,
        limit: i64,
    ) -> Result<Vec<(EventId, Message)>, StoreError> {
        let params = [thread.key().into(), before.0.into(), limit.into()];
        self.rows(&sql::NEWEST_OF_THREAD, &params)?
            .iter_mut()
            .map(row::read_message)
            .collect()
    }

    /// What happened last in a thread, the newest first.
    pub fn newest_events(
        &mut self,
        thread: ThreadId,
        limit: i64,
    ) -> Result<Vec<Event>, StoreError> {
        let params = [thread.key().into(), limit.into()];
        self.rows(&sql::NEWEST_EVENTS_OF_THREAD, &params)?
            .iter_mut()
            .map(row::read_event)
            .collect()
    }
}
