//! Numbers for events, given behind the commit.

use inbox_core::sabotage::planted;

use super::link::{Link, cells};
use crate::driver::Mode;
use crate::error::StoreError;
use crate::sql;

const TRIES: u32 = 10;

impl Link {
    /// Both steps are one round trip each. The lock above all is held only while the server works,
    /// and not while its answers travel.
    pub(super) async fn number(&mut self) -> Result<(), StoreError> {
        if planted("number_at_insert") {
            return Ok(());
        }
        let look = self.transaction_text(Mode::Read, &[sql::UNNUMBERED.postgres]);
        let answer = self.batch(&look).await?;
        if cells::<1>(&answer).next().is_none() {
            return Ok(());
        }
        // READ COMMITTED gives each statement its own snapshot, so that the numbering, which comes
        // after the lock, sees what its last holder committed.
        let steps = [sql::NUMBER_LOCK.postgres, sql::NUMBER.postgres];
        let number = self.transaction_text(Mode::Write, &steps);
        // A race is settled here. The caller may have committed, and must not take it for its own
        // and write again.
        for _ in 0..TRIES {
            match self.batch(&number).await {
                Err(StoreError::Raced) => {}
                done => return done.map(drop),
            }
        }
        Err(StoreError::Busy(
            "numbering the newest events met other writers again and again".into(),
        ))
    }

    /// One round trip, where a transaction with a query would be three.
    pub(super) async fn event_of(&mut self, entry_no: i64) -> Result<i64, StoreError> {
        // A batch has no parameters.
        let ask = sql::EVENT_OF_ENTRY
            .postgres
            .replace("$1", &entry_no.to_string());
        let answer = self
            .batch(&self.transaction_text(Mode::Read, &[&ask]))
            .await?;
        let event = cells(&answer).next().and_then(|[event]| event.parse().ok());
        event.ok_or_else(|| StoreError::Unreadable(format!("entry {entry_no} without a number")))
    }

    /// The planted bug: what makes readers pass over events that are committed late.
    pub(super) async fn number_at_insert(
        &mut self,
        entry: &[tokio_postgres::Row],
    ) -> Result<(), StoreError> {
        let number = "UPDATE entries SET event_id = entry_no WHERE entry_no = $1";
        self.run(async |client| {
            for row in entry {
                client
                    .execute(number, &[&row.try_get::<_, i64>(0)?])
                    .await?;
            }
            Ok(())
        })
        .await
    }
}
