//! What reaches people outside of the store: by what each is told, what of, and how far that has come.

use inbox_core::record::Millis;
use inbox_core::{AgentName, EventId, MessageId};

use crate::error::StoreError;
use crate::sql;
use crate::tx::Tx;
use crate::value::Row;

/// By what a person is told: one row for each person and way.
#[derive(Debug, Clone)]
pub struct ReachRow {
    /// Its key.
    pub reach_no: i64,
    /// Who is told.
    pub person: AgentName,
    /// By what.
    pub name: String,
    /// The event up to which the person's mail was looked at.
    pub seen: EventId,
    /// The event up to which the rest was summed up.
    pub summed: EventId,
    /// When that was; when it began, before the first time.
    pub summed_at: Millis,
    /// How often it worked.
    pub sent: i64,
    /// When it last did.
    pub sent_at: Option<Millis>,
    /// How often it failed since.
    pub tries: i64,
    /// When it may be tried again.
    pub next_at: Millis,
    /// How it failed last.
    pub problem: Option<String>,
    /// Since when it fails.
    pub problem_at: Option<Millis>,
}

/// What waits for a reach.
#[derive(Debug, Clone, Copy, Default)]
pub struct Waiting {
    /// How many notices wait.
    pub count: i64,
    /// When the first of those was made that could be sent now.
    pub due_since: Option<Millis>,
    /// How many were given up.
    pub given_up: i64,
}

/// What is told.
#[derive(Debug, Clone)]
pub struct NoticeRow {
    /// Its key.
    pub notice_no: i64,
    /// Its id everywhere.
    pub uid: String,
    /// What it is: a code of whoever made it.
    pub sort: i64,
    /// The message that it is about.
    pub message: Option<MessageId>,
    /// The event after which it begins, when it sums up.
    pub since: EventId,
    /// When it was made.
    pub created_at: Millis,
}

/// How far a notice has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoticeState {
    /// It is to be sent.
    Waits = 0,
    /// It was sent.
    Sent = 1,
    /// Before it was sent, it had become needless.
    Needless = 2,
    /// It could not be sent for too long.
    GivenUp = 3,
    /// It is counted in another.
    Counted = 4,
}

/// A notice to keep.
#[derive(Debug, Clone)]
pub struct NewNotice {
    /// Its id everywhere.
    pub uid: String,
    /// What it is.
    pub sort: i64,
    /// The message that it is about.
    pub message: Option<MessageId>,
    /// The event after which it begins, when it sums up.
    pub since: EventId,
    /// Whether it is sent, or counted in another.
    pub state: NoticeState,
    /// When it may be sent.
    pub due_at: Millis,
}

impl Tx<'_> {
    /// By what a person is told under this name, if that has begun.
    pub fn reach(
        &mut self,
        person: &AgentName,
        name: &str,
    ) -> Result<Option<ReachRow>, StoreError> {
        let params = [person.as_str().into(), name.into()];
        let row = self.first(&sql::FIND_REACH, &params)?;
        row.map(|mut row| read(&mut row)).transpose()
    }

    /// Begins to tell a person by something.
    pub fn insert_reach(&mut self, person: &AgentName, name: &str) -> Result<(), StoreError> {
        let now = self.now().0;
        let params = [person.as_str().into(), name.into(), now.into()];
        self.first(&sql::INSERT_REACH, &params).map(drop)
    }

    /// By what everybody is told, and what waits for each.
    pub fn reaches(&mut self) -> Result<Vec<(ReachRow, Waiting)>, StoreError> {
        let now = self.now().0;
        let mut rows = self.rows(&sql::LIST_REACHES, &[now.into()])?;
        rows.iter_mut()
            .map(|row| {
                let reach = read(row)?;
                let waiting = Waiting {
                    count: row.int()?,
                    due_since: row.maybe_int()?.map(Millis),
                    given_up: row.int()?,
                };
                Ok((reach, waiting))
            })
            .collect()
    }

    /// Remembers that a person's mail was looked at up to an event.
    pub fn pass_reach(&mut self, reach_no: i64, to: EventId) -> Result<(), StoreError> {
        self.put(&sql::PASS_REACH, &[to.0.into(), reach_no.into()])
    }

    /// Remembers that the rest was summed up: whether nobody else did in the meantime.
    pub fn sum_reach(&mut self, reach: &ReachRow, to: EventId) -> Result<bool, StoreError> {
        let now = self.now().0;
        let params = [
            to.0.into(),
            now.into(),
            reach.reach_no.into(),
            reach.summed_at.0.into(),
        ];
        Ok(self.first(&sql::SUM_REACH, &params)?.is_some())
    }

    /// Keeps a notice, unless there is one with this id: whether it is new.
    pub fn insert_notice(&mut self, reach_no: i64, new: &NewNotice) -> Result<bool, StoreError> {
        let now = self.now().0;
        let params = [
            reach_no.into(),
            new.uid.as_str().into(),
            new.sort.into(),
            new.message.map(MessageId::key).into(),
            new.since.0.into(),
            (new.state as i64).into(),
            new.due_at.0.into(),
            now.into(),
        ];
        Ok(self.first(&sql::INSERT_NOTICE, &params)?.is_some())
    }

    /// The notice that is due the longest.
    pub fn due_notice(&mut self, reach_no: i64) -> Result<Option<NoticeRow>, StoreError> {
        let now = self.now().0;
        let row = self.first(&sql::DUE_NOTICE, &[reach_no.into(), now.into()])?;
        row.map(|mut row| {
            Ok(NoticeRow {
                notice_no: row.int()?,
                uid: row.text()?,
                sort: row.int()?,
                message: row.maybe_int()?.map(MessageId::new),
                since: EventId(row.int()?),
                created_at: Millis(row.int()?),
            })
        })
        .transpose()
    }

    /// When the next notice may be sent.
    pub fn next_notice(&mut self, reach_no: i64) -> Result<Option<Millis>, StoreError> {
        let next = self.one_int(&sql::NEXT_NOTICE, &[reach_no.into()])?;
        Ok(next.map(Millis))
    }

    /// Takes a notice to send it. Whoever does not say within `for_ms` how that ended leaves it to others. How often it was
    /// taken; nothing, when somebody else has it.
    pub fn take_notice(&mut self, notice_no: i64, for_ms: i64) -> Result<Option<i64>, StoreError> {
        let now = self.now().0;
        let params = [(now + for_ms).into(), notice_no.into(), now.into()];
        self.one_int(&sql::TAKE_NOTICE, &params)
    }

    /// Ends a notice: whether nobody had.
    pub fn end_notice(&mut self, notice_no: i64, state: NoticeState) -> Result<bool, StoreError> {
        let now = self.now().0;
        let params = [(state as i64).into(), now.into(), notice_no.into()];
        Ok(self.first(&sql::END_NOTICE, &params)?.is_some())
    }

    /// Leaves a notice for later, and says why.
    pub fn delay_notice(
        &mut self,
        notice_no: i64,
        for_ms: i64,
        problem: &str,
    ) -> Result<(), StoreError> {
        let until = self.now().0 + for_ms;
        let params = [until.into(), problem.into(), notice_no.into()];
        self.put(&sql::DELAY_NOTICE, &params)
    }

    /// Remembers that a reach works.
    pub fn reach_worked(&mut self, reach_no: i64) -> Result<(), StoreError> {
        let now = self.now().0;
        self.put(&sql::REACH_WORKED, &[now.into(), reach_no.into()])
    }

    /// Remembers that a reach failed, and how; it is left alone for so long.
    pub fn reach_failed(
        &mut self,
        reach_no: i64,
        for_ms: i64,
        problem: &str,
    ) -> Result<(), StoreError> {
        let now = self.now().0;
        let params = [
            (now + for_ms).into(),
            problem.into(),
            now.into(),
            reach_no.into(),
        ];
        self.put(&sql::REACH_FAILED, &params)
    }

    /// How many notices of messages were made after a time and up to another: those that stand alone, or those that are counted
    /// in another.
    pub fn count_notices(
        &mut self,
        reach_no: i64,
        (after, until): (Millis, Millis),
        is_counted: bool,
    ) -> Result<i64, StoreError> {
        let params = [
            reach_no.into(),
            after.0.into(),
            until.0.into(),
            i64::from(is_counted).into(),
        ];
        let count = self.one_int(&sql::COUNT_NOTICES, &params)?;
        Ok(count.unwrap_or_default())
    }

    /// Forgets the notices that were made before a time and wait no more.
    pub fn forget_notices(&mut self, reach_no: i64, before: Millis) -> Result<(), StoreError> {
        self.put(&sql::FORGET_NOTICES, &[reach_no.into(), before.0.into()])
    }
}

fn read(row: &mut Row) -> Result<ReachRow, StoreError> {
    Ok(ReachRow {
        reach_no: row.int()?,
        person: row.parsed()?,
        name: row.text()?,
        seen: EventId(row.int()?),
        summed: EventId(row.int()?),
        summed_at: Millis(row.int()?),
        sent: row.int()?,
        sent_at: row.maybe_int()?.map(Millis),
        tries: row.int()?,
        next_at: Millis(row.int()?),
        problem: row.maybe_text()?,
        problem_at: row.maybe_int()?.map(Millis),
    })
}
