//! What an index of messages must be able to do, and what it is given.

use inbox_core::record::Millis;
use inbox_core::{Address, Kind, Message, Thread};

use super::document::{Document, FIELD_CHARS};
use super::filter;
use super::query::Query;
use crate::driver::Driver;
use crate::error::StoreError;
use crate::sql;
use crate::value::Row;

/// The rules by which texts become words. A greater number makes every index anew.
pub(crate) const RULES: i64 = 1;

/// How many messages are indexed in one transaction: a fraction of a second's work.
pub(crate) const BATCH: i64 = 1_000;

/// Why an index could not be used.
#[derive(Debug)]
pub(crate) enum Trouble {
    /// The store itself failed.
    Store(StoreError),
    /// The index is damaged, or is something else.
    Damaged(StoreError),
    /// The index cannot be written or read now; there is nothing wrong with it.
    Unusable(StoreError),
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Self {
        Trouble::Store(error)
    }
}

/// How far an index has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Every message up to this event is in it.
    pub(crate) through: i64,
    /// How many messages that are.
    pub(crate) documents: i64,
}

/// What is looked for, as an index understands it.
#[derive(Debug)]
pub(crate) struct Wanted<'a> {
    pub(crate) query: &'a Query,
    pub(crate) facets: Vec<Vec<String>>,
    /// From this event on.
    pub(crate) first: i64,
}

/// The archive of a month.
#[derive(Debug)]
pub(crate) struct Archive<'a> {
    pub(crate) month: &'a str,
    /// Says what was in it when it was indexed.
    pub(crate) stamp: &'a str,
    /// The numbers that its messages may have, in their order.
    pub(crate) numbers: std::ops::RangeInclusive<i64>,
}

/// A message that is not in the index yet.
pub(crate) struct Entry {
    /// Its event, or its place in the archives: what the index knows it by.
    pub(crate) number: i64,
    pub(crate) random: i64,
    pub(crate) day: i64,
    pub(crate) facets: Vec<String>,
    subject: String,
    summary: String,
    body: String,
    payload: String,
}

impl Entry {
    fn read(row: &mut Row) -> Result<Entry, StoreError> {
        let number = row.int()?;
        let day = filter::day(Millis(row.int()?));
        let random = row.int()?;
        let mut facets = vec![filter::kind(row.word(Kind::from_code)?)];
        facets.push(filter::from(&row.text()?));
        let first = row.text()?;
        let list = row.maybe_text()?;
        for stored in list.as_deref().unwrap_or(&first).split(' ') {
            let address = Address::from_stored(stored)
                .map_err(|_| StoreError::Unreadable(format!("the address {stored:?}")))?;
            facets.push(filter::to(address.as_str()));
        }
        facets.extend(row.maybe_text()?.as_deref().map(filter::run));
        facets.extend(row.maybe_text()?.as_deref().map(filter::task));
        Ok(Entry {
            number,
            random,
            day,
            facets,
            subject: row.text()?,
            summary: row.text()?,
            body: row.maybe_text()?.unwrap_or_default(),
            payload: row.maybe_text()?.unwrap_or_default(),
        })
    }

    /// An archived message, by its place in the archives.
    pub(crate) fn archived(number: i64, message: Message, thread: Thread) -> Entry {
        let mut facets = vec![
            filter::kind(message.kind),
            filter::from(message.from_agent.as_str()),
        ];
        facets.extend(message.to.iter().map(|to| filter::to(to.as_str())));
        facets.extend(
            Some(thread.run_id.as_str())
                .filter(|run| !run.is_empty())
                .map(filter::run),
        );
        facets.extend(
            Some(thread.task_id.as_str())
                .filter(|task| !task.is_empty())
                .map(filter::task),
        );
        Entry {
            number,
            random: 0,
            day: filter::day(message.created_at),
            facets,
            subject: thread.subject,
            summary: message.summary,
            body: message.body,
            payload: message.payload_json.to_string(),
        }
    }

    pub(crate) fn document(&self) -> Document<'_> {
        Document::new(&self.subject, &self.summary, &self.body, &self.payload)
    }
}

/// The oldest messages after an event, in a transaction that has begun.
pub(crate) fn unindexed(driver: &mut dyn Driver, after: i64) -> Result<Vec<Entry>, StoreError> {
    let chars = i64::try_from(FIELD_CHARS).unwrap_or(i64::MAX);
    driver
        .query(&sql::UNINDEXED, &[chars.into(), after.into(), BATCH.into()])?
        .iter_mut()
        .map(Entry::read)
        .collect()
}

/// The index of a store.
pub(crate) trait Index: Send {
    /// Indexes one batch of what is not indexed yet; whether there may be more. Outside a transaction.
    fn advance(&mut self, driver: &mut dyn Driver) -> Result<bool, Trouble>;

    /// Tells the index that a search begins, in whose transaction it will be asked; how far it has come.
    fn enter(&mut self, driver: &mut dyn Driver) -> Result<Progress, Trouble>;

    /// The events of at most `limit` messages that may match, up to and including `last`, newest first.
    fn newest(
        &mut self,
        driver: &mut dyn Driver,
        wanted: &Wanted<'_>,
        last: i64,
        limit: i64,
    ) -> Result<Vec<i64>, Trouble>;

    /// The first and the last event of messages sent on these days.
    fn events_of_days(
        &mut self,
        driver: &mut dyn Driver,
        first: i64,
        last: i64,
    ) -> Result<(i64, i64), Trouble>;

    /// The archives that are indexed, with their stamps. In the transaction of a search.
    fn archives(&mut self, driver: &mut dyn Driver) -> Result<Vec<(String, String)>, Trouble>;

    /// Puts these messages in the place of all that an archive had. Outside a transaction.
    fn replace_archive(
        &mut self,
        driver: &mut dyn Driver,
        archive: &Archive<'_>,
        entries: &mut dyn Iterator<Item = (Entry, String)>,
    ) -> Result<(), Trouble>;

    /// The numbers and lines of at most `limit` archived messages that may match, up to and including
    /// `last`, newest first.
    fn archived(
        &mut self,
        driver: &mut dyn Driver,
        wanted: &Wanted<'_>,
        last: i64,
        limit: i64,
    ) -> Result<Vec<(i64, String)>, Trouble>;

    /// Tells the index that the search is over.
    fn leave(&mut self);

    /// Repairs what is damaged, by the cheapest means first; whether it is worth another try.
    fn mend(&mut self, attempt: u32) -> bool;
}
