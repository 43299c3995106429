//! What happened to work over a time, for those who draw it.

use std::collections::HashMap;

use inbox_core::record::Millis;
use inbox_core::{EventId, EventType, Status, ThreadId};

use crate::error::StoreError;
use crate::sql;
use crate::tx::Tx;

/// Something that happened to a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Happening {
    /// The thread.
    pub thread: ThreadId,
    /// What happened.
    pub event: EventType,
    /// The status that it left.
    pub status: Status,
    /// When.
    pub at: Millis,
}

/// What is told of a thread of work beside its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// Its run, or nothing.
    pub run: String,
    /// Its addresses, as they are stored.
    pub to: String,
}

impl Tx<'_> {
    /// What happened to threads after an event, oldest first; in one run only, where it is named.
    pub fn steps_after(
        &mut self,
        after: EventId,
        run: Option<&str>,
        limit: i64,
    ) -> Result<Vec<Happening>, StoreError> {
        let mut rows = match run {
            None => self.rows(&sql::STEPS_AFTER, &[after.0.into(), limit.into()])?,
            Some(run) => {
                let params = [after.0.into(), run.into(), limit.into()];
                self.rows(&sql::STEPS_OF_RUN, &params)?
            }
        };
        rows.iter_mut()
            .map(|row| {
                Ok(Happening {
                    thread: ThreadId::new(row.int()?),
                    event: row.word(EventType::from_code)?,
                    status: row.word(Status::from_code)?,
                    at: Millis(row.int()?),
                })
            })
            .collect()
    }

    /// The threads of work in which something happened after an event; of one run only, where it is named.
    pub fn work_after(
        &mut self,
        after: EventId,
        run: Option<&str>,
    ) -> Result<HashMap<ThreadId, Piece>, StoreError> {
        let mut rows = match run {
            None => self.rows(&sql::WORK_AFTER, &[after.0.into()])?,
            Some(run) => self.rows(&sql::WORK_OF_RUN, &[run.into()])?,
        };
        rows.iter_mut()
            .map(|row| {
                let thread = ThreadId::new(row.int()?);
                let run = row.maybe_text()?.unwrap_or_default();
                let to = row.text()?;
                Ok((thread, Piece { run, to }))
            })
            .collect()
    }

    /// Who wrote to which address after an event, and how often; the busiest first.
    pub fn talk_after(
        &mut self,
        after: EventId,
        run: Option<&str>,
        limit: i64,
    ) -> Result<Vec<(String, String, i64)>, StoreError> {
        let params = [after.0.into(), run.into(), limit.into()];
        let mut rows = self.rows(&sql::TALK_AFTER, &params)?;
        rows.iter_mut()
            .map(|row| Ok((row.text()?, row.text()?, row.int()?)))
            .collect()
    }

    /// The last event before a time. Events are in the order of time but for the clocks of those who wrote them, which is near enough
    /// for drawing.
    pub fn event_before(&mut self, time: Millis) -> Result<EventId, StoreError> {
        let newest = self.one_int(&sql::NEWEST_EVENT, &[])?.unwrap_or(0);
        let (mut low, mut high) = (0, newest);
        while low < high {
            let middle = low + (high - low) / 2 + 1;
            let at = self.one_int(&sql::TIME_OF_EVENT, &[middle.into()])?;
            if at.is_some_and(|at| at < time.0) {
                low = middle;
            } else {
                high = middle - 1;
            }
        }
        Ok(EventId(low))
    }

    /// How much work waits to be claimed, counted up to a number.
    pub fn count_queued(&mut self, most: i64) -> Result<i64, StoreError> {
        let found = self.one_int(&sql::COUNT_QUEUED, &[most.into()])?;
        Ok(found.unwrap_or(0))
    }
}
