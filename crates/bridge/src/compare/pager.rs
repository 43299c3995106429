//! What was kept of a topic's messages, a page at a time.

use std::collections::VecDeque;

use inbox_core::Refusal;
use inbox_ops::Inbox;
use inbox_store::LedgerRecord;

/// How many are read at once. One may have 20 KiB.
const PAGE: i64 = 100;

pub(super) struct Pager<'i> {
    inbox: &'i Inbox,
    topic_no: i64,
    after: i64,
    page: VecDeque<LedgerRecord>,
}

impl<'i> Pager<'i> {
    pub(super) fn new(inbox: &'i Inbox, topic_no: i64) -> Self {
        Pager {
            inbox,
            topic_no,
            // One with a number that no message has is found as well.
            after: i64::MIN,
            page: VecDeque::new(),
        }
    }

    /// The number of the next one.
    pub(super) fn number(&mut self) -> Result<Option<i64>, Refusal> {
        if self.page.is_empty() {
            self.page = self
                .inbox
                .records_after(self.topic_no, self.after, PAGE)?
                .into();
        }
        Ok(self.page.front().map(|record| record.sequence))
    }

    /// The next one, if its number is no greater than this.
    pub(super) fn next_to(&mut self, number: i64) -> Result<Option<LedgerRecord>, Refusal> {
        if self.number()?.is_none_or(|next| next > number) {
            return Ok(None);
        }
        let record = self.page.pop_front();
        if let Some(record) = &record {
            self.after = record.sequence;
        }
        Ok(record)
    }
}
