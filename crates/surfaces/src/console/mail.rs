//! How messages, questions and threads look wherever they stand.

use inbox_core::{Message, Priority, Refusal, Status, Thread};
use inbox_ops::{Ask, AskSort};

use super::Visit;
use super::approval;
use super::html::{Html, ago, encoded, escape, left, line, short};
use super::markdown::beginning;
use super::payload::sections;
use crate::person;

/// A status as a word with a mark, so that it is told without colour.
pub(super) fn status(status: Status) -> Html {
    let (mark, word) = (person::status_mark(status), person::status_word(status));
    Html::new(format!(
        "<span class=\"status {status}\"><span aria-hidden=\"true\">{mark}</span> {word}</span>"
    ))
}

/// A priority, where it is another than usual.
pub(super) fn priority(priority: Priority) -> Html {
    if priority == Priority::Normal {
        return Html::default();
    }
    Html::new(format!(
        "<span class=\"priority {priority}\">{priority}</span>"
    ))
}

/// A name that leads to its agent's page.
pub(super) fn agent(name: &str) -> Html {
    Html::new(format!(
        "<a class=\"agent\" href=\"/agents/{}\">{}</a>",
        encoded(name),
        escape(&line(name))
    ))
}

/// How many addresses of a list are named.
const NAMED: usize = 6;

/// Addresses; those that are names lead to their agents.
pub(super) fn addresses(list: &[inbox_core::Address]) -> Html {
    let one = |address: &inbox_core::Address| match address.bare_name() {
        Some(name) if name.as_str() != "human" => agent(name.as_str()).to_string(),
        _ => format!(
            "<span class=\"address\">{}</span>",
            escape(&short(&address.to_string()))
        ),
    };
    let mut shown: Vec<String> = list.iter().take(NAMED).map(one).collect();
    if let Some(more) = list.len().checked_sub(NAMED).filter(|more| *more > 0) {
        shown.push(format!("{more} more"));
    }
    Html::new(shown.join(", "))
}

/// A thread's subject, which leads to it.
pub(super) fn subject(thread: &Thread) -> Html {
    let text = match short(&thread.subject) {
        empty if empty.trim().is_empty() => "(no subject)".to_owned(),
        text => text,
    };
    Html::new(format!(
        "<a class=\"subject\" href=\"/threads/{}\">{}</a>",
        thread.thread_id,
        escape(&text)
    ))
}

/// Whether it is proven who says it. What this program itself says nobody else can: its name is reserved.
pub(super) fn is_proven(message: &Message) -> bool {
    message.verified || message.from_agent.is_system()
}

/// What a message says: its line, and its text laid out. A text that begins with the line says it once.
pub(super) fn said(message: &Message) -> (String, Html) {
    let (summary, body) = (message.summary.trim(), message.body.trim());
    if body.is_empty() {
        return (line(summary), Html::default());
    }
    let first = body.lines().next().unwrap_or_default().trim();
    let (text, is_cut) = beginning(body);
    let summary = if first == summary {
        String::new()
    } else {
        line(summary)
    };
    (summary, with_rest(message, text, is_cut))
}

/// The structured content of a message.
pub(super) fn details(message: &Message) -> Html {
    let (sections, is_cut) = sections(&message.payload_json);
    with_rest(message, sections, is_cut)
}

/// How a text begins, and where the rest of it is.
fn with_rest(message: &Message, text: Html, is_cut: bool) -> Html {
    if !is_cut {
        return text;
    }
    Html::new(format!(
        "{text}<p class=\"meta\"><a href=\"/threads/{}/{}\">The whole message</a></p>",
        message.thread_id, message.message_id
    ))
}

/// A row of a list of threads.
pub(super) struct ThreadLine {
    pub(super) key: String,
    pub(super) status: Html,
    pub(super) subject: Html,
    pub(super) priority: Html,
    pub(super) from: Html,
    pub(super) to: Html,
    pub(super) updated: Html,
    pub(super) label: String,
}

impl ThreadLine {
    pub(super) fn of(visit: &Visit<'_>, thread: &Thread) -> Self {
        let labels = [&thread.run_id, &thread.task_id];
        let labels: Vec<String> = labels
            .into_iter()
            .filter(|label| !label.is_empty())
            .map(|label| short(label))
            .collect();
        ThreadLine {
            key: thread.thread_id.to_string(),
            status: status(thread.status),
            subject: subject(thread),
            priority: priority(thread.priority),
            from: agent(thread.created_by.as_str()),
            to: match thread.assigned_to.parse::<inbox_core::Address>() {
                Ok(address) => addresses(std::slice::from_ref(&address)),
                Err(_) => addresses(&thread.to),
            },
            updated: ago(thread.updated_at, visit.now),
            label: labels.join(" · "),
        }
    }
}

/// A message in a list of mail.
pub(super) struct MailLine {
    pub(super) id: String,
    pub(super) thread: String,
    pub(super) summary: String,
    pub(super) from: Html,
    pub(super) to: Html,
    pub(super) priority: Html,
    pub(super) is_verified: bool,
    pub(super) sort: String,
    pub(super) at: Html,
}

impl MailLine {
    pub(super) fn of(visit: &Visit<'_>, message: &Message) -> Self {
        MailLine {
            id: message.message_id.to_string(),
            thread: message.thread_id.to_string(),
            summary: match short(&message.summary) {
                empty if empty.trim().is_empty() => "(no summary)".to_owned(),
                text => text,
            },
            from: agent(message.from_agent.as_str()),
            to: addresses(&message.to),
            priority: priority(message.priority),
            is_verified: is_proven(message),
            sort: short(
                message
                    .message_type
                    .as_deref()
                    .unwrap_or(&message.kind.to_string()),
            ),
            at: ago(message.created_at, visit.now),
        }
    }
}

impl MailLine {
    /// How many bytes it takes on a page, about.
    pub(super) fn size(&self) -> usize {
        let html = [&self.from, &self.to, &self.priority, &self.at];
        let html: usize = html.iter().map(|html| html.size()).sum();
        700 + html + escape(&self.summary).len() + escape(&self.sort).len()
    }
}

/// An open question as a card.
pub(super) struct AskCard {
    pub(super) key: String,
    pub(super) word: &'static str,
    pub(super) class: &'static str,
    pub(super) subject: Html,
    pub(super) who: Html,
    /// Whether who asks waits: this program does not.
    pub(super) is_waiting: bool,
    pub(super) since: Html,
    pub(super) lease: Option<Html>,
    pub(super) summary: String,
    pub(super) body: Html,
    pub(super) details: Html,
    /// Answers that are one click, each with its word for the button.
    pub(super) answers: Vec<person::Button>,
    pub(super) is_verified: bool,
    pub(super) priority: Html,
}

impl AskCard {
    pub(super) fn of(visit: &Visit<'_>, ask: &Ask) -> Result<Self, Refusal> {
        let (word, _) = person::wanted(ask.sort);
        let class = match ask.sort {
            AskSort::Blocked => "blocked",
            AskSort::Approval => "approval",
            AskSort::Connection => "connection",
            AskSort::Question => "question",
        };
        let message = &ask.message;
        let (summary, body) = said(message);
        let (body, details) = match approval::card(visit, message)? {
            Some(card) => (card, Html::default()),
            None => (body, details(message)),
        };
        Ok(AskCard {
            key: ask.thread.thread_id.to_string(),
            word,
            class,
            subject: subject(&ask.thread),
            who: agent(ask.waiting.as_str()),
            is_waiting: !ask.waiting.is_system(),
            since: ago(ask.since, visit.now),
            lease: ask.lease_until.map(|until| left(until, visit.now)),
            // Said once is enough.
            summary: if message.summary == ask.thread.subject {
                String::new()
            } else {
                summary
            },
            body,
            details,
            answers: person::answers(ask),
            is_verified: is_proven(message),
            priority: priority(message.priority),
        })
    }
}

impl AskCard {
    /// How many bytes it takes on a page, about.
    pub(super) fn size(&self) -> usize {
        let html = [&self.subject, &self.who, &self.body, &self.details];
        let html: usize = html.iter().map(|html| html.size()).sum();
        1_500 + html + escape(&self.summary).len()
    }
}
