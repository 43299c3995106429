//! For you: what waits for the person, and who waits with it.

use askama::Template;
use inbox_core::{Priority, Refusal};
use inbox_ops::{Ask, Waits};

use super::html::Html;
use super::mail::{AskCard, MailLine};
use super::{Visit, written};

#[derive(Template)]
#[template(path = "you.html")]
struct You<'a> {
    asks: Vec<AskCard>,
    elsewhere: Vec<AskCard>,
    urgent: Vec<MailLine>,
    notes: Vec<MailLine>,
    rest: Vec<MailLine>,
    unread: i64,
    is_more: bool,
    guard: &'a str,
}

pub(super) fn page(visit: &Visit<'_>, desk: &Waits) -> Result<(String, Html), Refusal> {
    let cards = |asks: &[Ask]| -> Result<Vec<_>, Refusal> {
        asks.iter().map(|ask| AskCard::of(visit, ask)).collect()
    };
    let (mut urgent, mut notes, mut rest) = (Vec::new(), Vec::new(), Vec::new());
    for message in &desk.mail {
        let line = MailLine::of(visit, message);
        let sort = message.message_type.as_deref().unwrap_or_default();
        if message.priority <= Priority::High {
            urgent.push(line);
        } else if sort.rsplit('.').next() == Some("note") {
            notes.push(line);
        } else {
            rest.push(line);
        }
    }
    let main = written(&You {
        asks: cards(&desk.asks)?,
        elsewhere: cards(&desk.elsewhere)?,
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
