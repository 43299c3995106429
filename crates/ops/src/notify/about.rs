//! What a notice tells of: which messages stand alone, what is the rest, and what has become needless.

use inbox_core::record::Millis;
use inbox_core::sabotage::planted;
use inbox_core::{EventId, Kind, Message, Priority, Status, Thread};
use inbox_store::{Abort, NoticeRow, ReachRow, Reader, Tx};
use serde::Serialize;

use super::HOUR;
use crate::desk::AskSort;
use crate::read::{count_unread, unread};
use crate::step::thread;

/// How many messages a digest is made of at the most.
const SUMMED: i64 = 200;

/// What a notice is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeSort {
    /// A question for which work waits.
    Blocked = 1,
    /// Leave to go on, or a signature.
    Approval = 2,
    /// Another who wants to talk.
    Connection = 3,
    /// A question for which no work waits.
    Question = 4,
    /// Urgent mail.
    Urgent = 5,
    /// The rest, summed up.
    Digest = 6,
    /// What was too much to be told one by one.
    More = 7,
    /// A try.
    Test = 8,
}

impl NoticeSort {
    const ALL: [NoticeSort; 8] = [
        NoticeSort::Blocked,
        NoticeSort::Approval,
        NoticeSort::Connection,
        NoticeSort::Question,
        NoticeSort::Urgent,
        NoticeSort::Digest,
        NoticeSort::More,
        NoticeSort::Test,
    ];

    pub(super) fn from_code(code: i64) -> Option<Self> {
        Self::ALL.into_iter().find(|sort| *sort as i64 == code)
    }

    /// What a message is told as, when it is told of by itself.
    pub(super) fn of(message: &Message, thread: &Thread) -> Option<Self> {
        if message.kind == Kind::Question {
            return Some(match AskSort::of(message, thread) {
                AskSort::Blocked => NoticeSort::Blocked,
                AskSort::Approval => NoticeSort::Approval,
                AskSort::Connection => NoticeSort::Connection,
                AskSort::Question => NoticeSort::Question,
            });
        }
        (message.priority == Priority::Urgent).then_some(NoticeSort::Urgent)
    }
}

/// What a notice tells of.
#[derive(Debug, Clone)]
pub enum About {
    /// A message, and its thread.
    Message(Box<Message>, Box<Thread>),
    /// Unread mail that is not urgent and asks nothing.
    Rest {
        /// The oldest of it.
        mail: Vec<Message>,
        /// How much there is.
        count: usize,
        /// How much of it tells of work that is done.
        done: usize,
        /// How much of it tells of work that failed.
        failed: usize,
        /// Whether there may be more.
        is_more: bool,
        /// How much is unread in all, counted up to 1000.
        unread: i64,
    },
    /// So many messages that were not told of one by one.
    More(i64),
    /// Nothing: it is a try.
    Nothing,
}

/// The first of what is neither urgent nor a question, and whether there may be more.
pub(super) fn rest(
    tx: &mut Tx<'_>,
    reader: &Reader,
    since: EventId,
) -> Result<(Vec<Message>, bool), Abort> {
    let (found, is_cut) = unread(tx, reader, since, SUMMED)?;
    let is_rest =
        |message: &Message| message.kind != Kind::Question && message.priority != Priority::Urgent;
    let rest = found
        .into_iter()
        .map(|(_, message)| message)
        .filter(is_rest)
        .collect();
    Ok((rest, is_cut))
}

/// What a notice tells of now; nothing when the person knows, or it has been settled.
pub(super) fn about(
    tx: &mut Tx<'_>,
    reach: &ReachRow,
    row: &NoticeRow,
    sort: NoticeSort,
) -> Result<Option<About>, Abort> {
    let reader = tx.reader(&reach.person, None)?;
    if let Some(id) = row.message {
        let Some((event, message)) = tx.load_message(id)? else {
            return Ok(None);
        };
        let (found, _) = unread(tx, &reader, EventId(event.0 - 1), 1)?;
        let is_unread = found.iter().any(|(at, _)| *at == event);
        if !is_unread && !planted("notice_unheeded") {
            return Ok(None);
        }
        let thread = thread(tx, message.thread_id)?.thread;
        let is_settled =
            message.kind == Kind::Question && thread.latest_message_id != Some(message.message_id);
        return Ok((!is_settled).then(|| About::Message(Box::new(message), Box::new(thread))));
    }
    let (unread, _) = count_unread(tx, &reader)?;
    if unread == 0 {
        return Ok(None);
    }
    if sort == NoticeSort::More {
        let begins = row.created_at.0 / HOUR * HOUR;
        let hour = (Millis(begins - 1), Millis(begins + HOUR - 1));
        let count = tx.count_notices(reach.reach_no, hour, true)?;
        return Ok(Some(About::More(count)));
    }
    let (mail, is_more) = rest(tx, &reader, row.since)?;
    let count = mail.len();
    let (mut done, mut failed) = (0, 0);
    for message in mail.iter().filter(|message| message.kind == Kind::Result) {
        match thread(tx, message.thread_id)?.thread.status {
            Status::Done => done += 1,
            Status::Failed => failed += 1,
            _ => {}
        }
    }
    Ok((count > 0).then(|| About::Rest {
        mail: mail.into_iter().take(10).collect(),
        count,
        done,
        failed,
        is_more,
        unread,
    }))
}
