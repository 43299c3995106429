//! `read`: what is new in the caller's inbox.

use inbox_core::sabotage::planted;
use inbox_core::{EventId, Message, MessageId, Refusal, Step, limit};
use inbox_store::{Abort, Reader, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::glance::Header;
use crate::page::Page;
use crate::send::no_message;

/// How many messages a page has unless told otherwise.
const PAGE: i64 = 20;

/// Unread messages are counted up to this: past it, the number helps nobody and would cost more with each.
const COUNTED: i64 = 1000;

/// A bookmark that is so many events behind is moved although nothing was read.
const BEHIND: i64 = 256;

/// Read the caller's new mail
///
/// That is every unread message by every address that reaches the caller: its name, its session, its
/// roles, its tags, and all; oldest first. They count as read, unless --peek is given.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Read {
    /// Look without marking anything as read; as text, at the headers alone
    #[serde(default)]
    pub peek: bool,
    /// Read at most so many; 20 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Read what came after this event
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_event: Option<EventId>,
    /// Read these messages alone, as far as they are new to the caller; repeat for several
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub message: Vec<MessageId>,
}

/// New mail.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Mail {
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// How many are still unread now, counted up to 1000.
    pub unread: i64,
    /// Whether there are more than were counted.
    pub unread_is_more: bool,
    /// Where to go on.
    pub next_event_id: EventId,
    /// Whether it was only looked at, so that headers are enough.
    #[serde(skip, default)]
    pub is_peek: bool,
}

impl Operation for Read {
    const NAME: &'static str = "read";
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Required;
    const FOR_RESERVED: bool = true;
    type Answer = Mail;

    fn completed(&self, answer: Mail) -> Mail {
        Mail {
            is_peek: self.peek,
            ..answer
        }
    }

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Mail, Refusal> {
        let limit = limit::in_range("--limit", self.limit.unwrap_or(PAGE), 1, limit::PAGE_MAX)?;
        let mut answer = if self.peek {
            inbox.read(|tx| {
                let agent = caller.agent()?;
                let newest = tx.newest_event()?;
                let reader = tx.reader(agent, caller.session.as_ref())?;
                let page = self.page(tx, &reader, limit)?;
                answer(tx, &reader, page, newest)
            })?
        } else {
            inbox.write(self, caller, |tx, agent| {
                // Before the inboxes are looked at: what comes in meanwhile is not passed over.
                let newest = tx.newest_event()?;
                let mut reader = tx.reader(agent, caller.session.as_ref())?;
                let page = self.page(tx, &reader, limit)?;
                let is_from_start = self.after_event.is_none() && self.message.is_empty();
                mark(tx, &mut reader, &page, newest, is_from_start)?;
                answer(tx, &reader, page, newest)
            })?
        };
        answer.is_peek = self.peek;
        if answer.messages.is_empty() {
            inbox.confirm_empty()?;
        }
        Ok(answer)
    }
}

/// A page of unread messages.
struct Unread {
    messages: Vec<(EventId, Message)>,
    is_cut: bool,
}

impl Read {
    fn page(&self, tx: &mut Tx<'_>, reader: &Reader, limit: i64) -> Result<Unread, Abort> {
        if !self.message.is_empty() {
            return self.named(tx, reader);
        }
        unread(tx, reader, self.after_event.unwrap_or(EventId(0)), limit)
            .map(|(messages, is_cut)| Unread { messages, is_cut })
    }
}

impl Read {
    /// Those of the named messages that are unread.
    fn named(&self, tx: &mut Tx<'_>, reader: &Reader) -> Result<Unread, Abort> {
        if self.after_event.is_some() || self.limit.is_some() {
            return Err(Refusal::input(
                "--message names what is read, and --limit and --after-event choose it: pass one",
            )
            .hint("inbox read --message ID")
            .into());
        }
        let mut messages: Vec<(EventId, Message)> = Vec::new();
        for id in &self.message {
            let found = tx.load_message(*id)?;
            let (event, _) = found.ok_or_else(|| no_message(*id))?;
            let is_known = messages.iter().any(|(known, _)| *known == event);
            let (found, _) = unread(tx, reader, EventId(event.0 - 1), 1)?;
            messages.extend(
                found
                    .into_iter()
                    .filter(|(at, _)| *at == event && !is_known),
            );
        }
        messages.sort_by_key(|(event, _)| *event);
        Ok(Unread {
            messages,
            is_cut: false,
        })
    }
}

/// The first unread messages by every address that reaches the reader, in the order of events, and whether
/// there are more.
pub(crate) fn unread(
    tx: &mut Tx<'_>,
    reader: &Reader,
    after: EventId,
    limit: i64,
) -> Result<(Vec<(EventId, Message)>, bool), Abort> {
    let mut found: Vec<(EventId, Message)> = Vec::new();
    for reached in &reader.addresses {
        for (event, message) in tx.unread(reader, reached, after, limit + 1)? {
            // A message with several addresses may come by more than one.
            if !found.iter().any(|(other, _)| *other == event) {
                found.push((event, message));
            }
        }
    }
    found.sort_by_key(|(event, _)| *event);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let is_cut = found.len() > limit;
    found.truncate(limit);
    Ok((found, is_cut))
}

/// How many messages are unread, and whether there are more than were counted.
pub(crate) fn count_unread(tx: &mut Tx<'_>, reader: &Reader) -> Result<(i64, bool), Abort> {
    let unread = tx.count_unread(reader, COUNTED + 1)?;
    Ok((unread.min(COUNTED), unread > COUNTED))
}

fn mark(
    tx: &mut Tx<'_>,
    reader: &mut Reader,
    page: &Unread,
    newest: EventId,
    is_from_start: bool,
) -> Result<(), Abort> {
    if !page.messages.is_empty() {
        reader.agent_no = tx.ensure_agent(&reader.agent)?;
    }
    for (_, message) in &page.messages {
        tx.receipt(reader, message.message_id, Step::Read, None)?;
    }
    if let Some((_, last)) = page.messages.last() {
        tx.set_last_read(reader.agent_no, last.message_id)?;
    }
    if !is_from_start || reader.agent_no == 0 {
        return Ok(());
    }
    // Everything up to the last one of a page that was cut, or up to now, concerns the reader no more.
    let passed = match page.messages.last() {
        Some((event, _)) if page.is_cut && !planted("bookmark_jumps") => *event,
        _ => newest,
    };
    for reached in &reader.addresses {
        let behind = tx.bookmark(reader, reached)?.0 + BEHIND < passed.0;
        if behind || !page.messages.is_empty() {
            tx.move_bookmark(reader, reached, passed)?;
        }
    }
    Ok(())
}

fn answer(tx: &mut Tx<'_>, reader: &Reader, page: Unread, newest: EventId) -> Result<Mail, Abort> {
    let (unread, unread_is_more) = count_unread(tx, reader)?;
    let next_event_id = match page.messages.last() {
        Some((event, _)) if page.is_cut => *event,
        _ => newest,
    };
    Ok(Mail {
        messages: page
            .messages
            .into_iter()
            .map(|(_, message)| message)
            .collect(),
        unread,
        unread_is_more,
        next_event_id,
        is_peek: false,
    })
}

impl Answer for Mail {
    fn is_something(&self) -> bool {
        !self.messages.is_empty()
    }

    // A page that was cut goes on at its own end, also when it is given again for a key.
    fn go_on_at(&mut self, _next_event_id: EventId) {}

    fn page(&self) -> Page {
        if self.messages.is_empty() {
            return Page::default().line("no new mail".to_owned());
        }
        let page = self.messages.iter().fold(Page::default(), |page, message| {
            if self.is_peek {
                page.header(&Header::of(message.clone()))
            } else {
                page.mail(message)
            }
        });
        match self.unread {
            0 => page,
            unread => {
                let more = if self.unread_is_more { " or more" } else { "" };
                page.line(format!("{unread}{more} unread"))
            }
        }
    }
}
