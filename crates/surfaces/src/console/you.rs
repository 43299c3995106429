//! For you: what waits for the person, and who waits with it.

use askama::Template;
use inbox_core::{EventId, Priority, Refusal};
use inbox_ops::{Ask, Waits};

use super::html::Html;
use super::mail::{AskCard, MailLine};
use super::size::{Part, Room};
use super::{Visit, written};

/// How much mail is looked at for a page.
pub(super) const MAIL: i64 = 50;

/// How much of the page questions, those of others, and mail may take, in bytes.
const ASKS: usize = 50_000;
const ELSEWHERE: usize = 15_000;
const LINES: usize = 50_000;

#[derive(Template)]
#[template(path = "you.html")]
struct You<'a> {
    asks: Vec<AskCard>,
    all_asks: usize,
    part: Part,
    elsewhere: Vec<AskCard>,
    all_elsewhere: usize,
    urgent: Vec<MailLine>,
    notes: Vec<MailLine>,
    rest: Vec<MailLine>,
    /// Whether this is the first page of mail, and the event behind which the next begins.
    is_first: bool,
    after: Option<i64>,
    unread: i64,
    is_more: bool,
    guard: &'a str,
}

pub(super) fn page(visit: &Visit<'_>, desk: &Waits) -> Result<(String, Html), Refusal> {
    // What is longer than a page goes on on the next.
    let cards = |asks: &[Ask], bytes: usize| -> Result<Vec<_>, Refusal> {
        let mut room = Room::new(bytes);
        let mut cards = Vec::new();
        for ask in asks {
            let card = AskCard::of(visit, ask)?;
            if !room.take(card.size()) {
                break;
            }
            cards.push(card);
        }
        Ok(cards)
    };
    let from = visit.fields.from().min(desk.asks.len());
    let asks = cards(&desk.asks[from..], ASKS)?;
    let (mut urgent, mut notes, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    let (mut room, mut after) = (Room::new(LINES), desk.mail_after);
    let mut last = EventId(0);
    let is_first = visit.fields.get("after").is_none();
    let mut mail: Vec<_> = desk.mail.iter().zip(&desk.came_with).collect();
    if !is_first {
        // What is urgent was on the first page; the others go on where the one before them ended.
        mail.sort_by_key(|(_, event)| **event);
    }
    for (message, event) in mail {
        let line = MailLine::of(visit, message);
        if !room.take(line.size()) {
            after = Some(last);
            break;
        }
        let sort = message.message_type.as_deref().unwrap_or_default();
        let is_urgent = message.priority <= Priority::High;
        if !is_urgent || !is_first {
            last = *event;
        }
        if is_urgent {
            urgent.push(line);
        } else if sort.rsplit('.').next() == Some("note") {
            notes.push(line);
        } else {
            rest.push(line);
        }
    }
    let main = written(&You {
        part: Part::new(from, asks.len(), desk.asks.len(), asks.len().max(1)),
        asks,
        all_asks: desk.asks.len(),
        elsewhere: cards(&desk.elsewhere, ELSEWHERE)?,
        all_elsewhere: desk.elsewhere.len(),
        is_first,
        after: after.map(|event| event.0),
        urgent,
        notes,
        rest,
        unread: desk.unread,
        is_more: desk.unread_is_more,
        guard: visit.guard,
    })?;
    let title = match desk.asks.len() {
        0 => "For you".to_owned(),
        count => format!("({count}) For you"),
    };
    Ok((title, main))
}
