//! What a person does on a page: each is one operation, and then another page is shown.

use inbox_core::{Address, Code, Entity, Kind, MessageId, Refusal, ThreadId};
use inbox_ops::{Assign, Cancel, Note, Operation, Read, Readdress, Reply, Send, Show};

use super::html::encoded;
use super::{Visit, nothing};

/// How many of a thread's newest messages count as read by an answer.
const ANSWERED: usize = 50;

/// Does what a form asks for: where to go then.
pub(crate) fn act(visit: &Visit<'_>) -> Result<String, Refusal> {
    let path: Vec<&str> = visit.path.iter().map(String::as_str).collect();
    match path[..] {
        ["read"] => read(visit),
        ["threads", id, verb] => thread(visit, id.parse()?, verb),
        ["channels", name] => post(visit, name),
        ["compose"] => compose(visit),
        ["dead", id] => readdress(visit, id.parse()?),
        _ => Err(nothing(&visit.path.join("/"))),
    }
}

fn thread(visit: &Visit<'_>, thread: ThreadId, verb: &str) -> Result<String, Refusal> {
    let (inbox, caller, fields) = (visit.inbox, visit.caller, visit.fields);
    let body = fields.get("body").map(str::to_owned);
    match verb {
        "answer" | "reply" => {
            // A word for a button, and what was written beside it.
            let word = fields.get("word").map(str::to_owned);
            let (summary, body) = match (word, body) {
                (Some(word), body) => (Some(word), body),
                (None, Some(body)) => (Some(first_line(&body)), Some(body)),
                (None, None) => return Err(empty("an answer")),
            };
            Reply {
                kind: (verb == "reply").then_some(Kind::Event),
                summary,
                body,
                ..Reply::to(thread)
            }
            .run(inbox, caller)?;
            // Whoever answers has read what it answers.
            let messages = Show::of(thread).run(inbox, caller)?.messages;
            let newest = messages.iter().rev().take(ANSWERED);
            Read {
                message: newest.map(|message| message.message_id).collect(),
                ..Read::default()
            }
            .run(inbox, caller)?;
        }
        "cancel" => {
            Cancel {
                thread,
                reason: fields.get("reason").map(str::to_owned),
            }
            .run(inbox, caller)?;
        }
        "assign" | "release" => {
            let to: Option<Address> = fields.parsed("to")?;
            Assign {
                thread,
                // Without anybody it goes back to all who could have claimed it.
                to: to.into_iter().filter(|_| verb == "assign").collect(),
                reason: fields.get("reason").map(str::to_owned),
            }
            .run(inbox, caller)?;
        }
        "note" => {
            let entity: Entity = fields
                .parsed("ref")?
                .ok_or_else(|| Refusal::input("a note is about something: ref is missing"))?;
            Note {
                entity,
                note: body.ok_or_else(|| empty("a note"))?,
                notify: Vec::new(),
                priority: None,
                artifacts: Vec::new(),
            }
            .run(inbox, caller)?;
        }
        _ => return Err(nothing(&visit.path.join("/"))),
    }
    Ok(back(visit, &format!("/threads/{thread}")))
}

fn post(visit: &Visit<'_>, name: &str) -> Result<String, Refusal> {
    let body = visit.fields.get("body").ok_or_else(|| empty("a message"))?;
    let sent = Send {
        to: vec![name.parse::<Address>()?],
        subject: Some(first_line(body)),
        body: Some(body.to_owned()),
        kind: Some(Kind::Event),
        ..Send::default()
    };
    sent.run(visit.inbox, visit.caller)?;
    Ok(format!("/channels/{}", encoded(name)))
}

fn compose(visit: &Visit<'_>) -> Result<String, Refusal> {
    let fields = visit.fields;
    let to = fields.get("to").ok_or_else(|| empty("an address"))?;
    let mut addresses = Vec::new();
    for word in to.split([',', ' ']).filter(|word| !word.is_empty()) {
        addresses.push(word.parse::<Address>()?);
    }
    let sent = Send {
        to: addresses,
        subject: fields.get("subject").map(str::to_owned),
        body: fields.get("body").map(str::to_owned),
        kind: fields.parsed("kind")?.or(Some(Kind::Event)),
        priority: fields.parsed("priority")?,
        ..Send::default()
    };
    let sent = sent.run(visit.inbox, visit.caller)?;
    Ok(format!("/threads/{}", sent.thread.thread_id))
}

fn readdress(visit: &Visit<'_>, message: MessageId) -> Result<String, Refusal> {
    let to: Option<Address> = visit.fields.parsed("to")?;
    let to = to.ok_or_else(|| empty("an address"))?;
    Readdress { message, to }.run(visit.inbox, visit.caller)?;
    Ok("/dead".to_owned())
}

fn read(visit: &Visit<'_>) -> Result<String, Refusal> {
    let mut message: Vec<MessageId> = Vec::new();
    for id in visit.fields.all("message") {
        message.push(id.parse()?);
    }
    if message.is_empty() && visit.fields.get("all").is_none() {
        return Err(Refusal::input("no message is named"));
    }
    let is_all = message.is_empty();
    let request = Read {
        limit: is_all.then_some(inbox_core::limit::PAGE_MAX),
        message,
        ..Read::default()
    };
    // A page of it at a time; each makes the rest smaller.
    for _ in 0..100 {
        let answer = request.run(visit.inbox, visit.caller)?;
        if !is_all || answer.messages.is_empty() {
            break;
        }
    }
    Ok(back(visit, "/"))
}

fn empty(what: &str) -> Refusal {
    Refusal::new(Code::InvalidInput, format!("{what} says something"))
        .hint("write something, and send it again")
}

fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().take(200).collect()
}

/// Where the form wants to go on, if that is a page of this console.
fn back(visit: &Visit<'_>, usual: &str) -> String {
    let wanted = visit.fields.get("back").unwrap_or(usual);
    let is_here = wanted.starts_with('/')
        && !wanted.starts_with("//")
        && !wanted.contains(['\\', '\r', '\n']);
    if is_here { wanted } else { usual }.to_owned()
}
