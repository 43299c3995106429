//! What the parties of a connection say: mail, proposals, and the end.

use inbox_core::record::Millis;
use inbox_core::{AgentName, MessageId};
use inbox_store::{Abort, ConnectionRow, ConnectionState, LedgerRecord, RecordState, TopicRow, Tx};

use super::connect::{self, Ending};
use super::hear;
use super::link::GRACE_MS;
use crate::call::Inbox;

impl Inbox {
    #[expect(
        clippy::too_many_arguments,
        reason = "what a party said is all of these, and they are used once"
    )]
    pub(super) fn said(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        record: &mut LedgerRecord,
        account: &str,
        text: &str,
        sort: Option<&str>,
        own: Option<MessageId>,
    ) -> Result<(), Abort> {
        let rows = tx.connections_on(&topic.name)?;
        let Some(row) = rows.iter().find(|row| row.state == ConnectionState::Open) else {
            record.reason = Some("the connection has ended, or is not there yet".to_owned());
            return Ok(());
        };
        if let Some(id) = own
            && let Some((_, message)) = tx.load_message(id)?
        {
            record.uid = Some(message.uid.clone());
            return hear::confirm(tx, topic, record, &message);
        }
        let from = connect::name_of(tx, account)?;
        let uid = self.say_in(tx, &rows, row, &from, text, sort, time_of(record))?;
        record.uid = Some(uid);
        record.state = RecordState::Taken;
        Ok(())
    }

    pub(super) fn ended(
        &self,
        tx: &mut Tx<'_>,
        topic: &TopicRow,
        account: &str,
        reason: Option<&str>,
    ) -> Result<String, Abort> {
        let by = connect::name_of(tx, account)?.to_string();
        for mut row in tx.connections_on(&topic.name)? {
            if row.state == ConnectionState::Open {
                let ending = Ending {
                    by: &by,
                    reason,
                    is_recorded: false,
                };
                self.end_in(tx, &mut row, &ending)?;
                // Who closes by hand records it, too.
                if by == row.agent.as_str() {
                    row.next_at = Millis(tx.now().0 + GRACE_MS);
                    tx.set_connection(&mut row)?;
                }
            }
        }
        Ok(format!("{account} ends the connection"))
    }
}

pub(super) fn proposed(
    tx: &mut Tx<'_>,
    topic: &TopicRow,
    record: &mut LedgerRecord,
    account: &str,
    schedule: &str,
    said: &str,
) -> Result<(), Abort> {
    let rows = tx.connections_on(&topic.name)?;
    let mut is_for_somebody = false;
    for row in rows {
        // What an agent proposes itself it has signed.
        let is_own = connect::name_of(tx, account)? == row.agent;
        if row.state == ConnectionState::Open && !is_own {
            tx.keep_proposal(row.connection_no, record.sequence, schedule, account, said)?;
            is_for_somebody = true;
        }
    }
    record.reason = Some(if is_for_somebody {
        format!("it proposes the schedule {schedule}")
    } else {
        format!("it proposes the schedule {schedule}, to nobody here")
    });
    Ok(())
}

/// When the network took it.
fn time_of(record: &LedgerRecord) -> Option<Millis> {
    let (seconds, nanos) = record.time.split_once('.')?;
    let seconds: i64 = seconds.parse().ok()?;
    let nanos: i64 = nanos.parse().ok()?;
    let millis = seconds.checked_mul(1_000)?.checked_add(nanos / 1_000_000)?;
    hear::plausible(Millis(millis))
}

/// Which of the rows of one topic are of agents that did not say it themselves.
pub(super) fn listeners<'r>(
    rows: &'r [ConnectionRow],
    from: &AgentName,
) -> impl Iterator<Item = &'r ConnectionRow> {
    let from = from.clone();
    rows.iter()
        .filter(move |row| row.state == ConnectionState::Open && row.agent != from)
}
