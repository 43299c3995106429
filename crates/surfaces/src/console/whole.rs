//! One message, whole: its text and its structured content as they were sent, in parts where they are long.

use askama::Template;
use inbox_core::{MessageId, Refusal, ThreadId};
use inbox_ops::{Operation, Show};

use super::html::{Html, ago, line};
use super::mail::agent;
use super::markdown::plain;
use super::{Visit, nothing, written};

/// How many characters a part has.
const PART: usize = 10_000;

#[derive(Template)]
#[template(path = "whole.html")]
struct Whole {
    id: String,
    thread: String,
    subject: String,
    from: Html,
    at: Html,
    text: Html,
    /// Which part this is, of how many.
    part: usize,
    parts: usize,
}

pub(super) fn page(
    visit: &Visit<'_>,
    thread: &str,
    message: &str,
) -> Result<(String, Html), Refusal> {
    let (thread, id): (ThreadId, MessageId) = (thread.parse()?, message.parse()?);
    let request = Show {
        message: Some(id),
        limit: Some(1),
        ..Show::of(thread)
    };
    let shown = request.run(visit.inbox, visit.caller)?;
    let message = shown.messages.last();
    let message = message.ok_or_else(|| nothing(&visit.path.join("/")))?;
    let mut whole = format!("{}\n\n{}", message.summary, message.body);
    let is_nothing = |value: &serde_json::Value| {
        value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty)
    };
    if !is_nothing(&message.payload_json) {
        whole.push_str(&format!("\n\n{:#}", message.payload_json));
    }
    let parts = whole.chars().count().div_ceil(PART).max(1);
    let part = visit.fields.number("part").unwrap_or(1);
    let part = usize::try_from(part).unwrap_or(1).clamp(1, parts);
    let text: String = whole.chars().skip((part - 1) * PART).take(PART).collect();
    let main = written(&Whole {
        id: id.to_string(),
        thread: thread.to_string(),
        subject: line(&shown.thread.subject),
        from: agent(message.from_agent.as_str()),
        at: ago(message.created_at, visit.now),
        text: plain(&text),
        part,
        parts,
    })?;
    Ok((id.to_string(), main))
}
