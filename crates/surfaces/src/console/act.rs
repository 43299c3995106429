//! What a person does on a page: each is one operation, and then another page is shown.

use inbox_core::text::first_line;
use inbox_core::{Address, Kind, MessageId, Refusal, ThreadId};
use inbox_ops::{Operation, Readdress, Send};

use super::html::encoded;
use super::{Visit, nothing};
use crate::mcp::ground::Ground;
use crate::person::{self, empty};

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
    let (ground, caller, fields) = (Ground::Store(visit.inbox), visit.caller, visit.fields);
    let text = |name: &str| fields.get(name).map(str::to_owned);
    match verb {
        "answer" | "reply" => {
            // A word for a button, and what was written beside it.
            let (word, body) = (text("word"), text("body"));
            person::say(&ground, caller, thread, verb == "answer", word, body)?;
        }
        "cancel" => person::call_off(&ground, caller, thread, text("reason"))?,
        // Without anybody it goes back to all who could have claimed it.
        "release" => person::give(&ground, caller, thread, None, text("reason"))?,
        "assign" => person::give(&ground, caller, thread, fields.get("to"), text("reason"))?,
        "note" => person::note(&ground, caller, fields.get("ref"), text("body"))?,
        _ => return Err(nothing(&visit.path.join("/"))),
    }
    Ok(back(visit, &format!("/threads/{thread}")))
}

fn post(visit: &Visit<'_>, name: &str) -> Result<String, Refusal> {
    let body = visit.fields.get("body").ok_or_else(|| empty("a message"))?;
    let sent = Send {
        to: vec![name.parse::<Address>()?],
        subject: Some(first_line(body).to_owned()),
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
    person::read(&Ground::Store(visit.inbox), visit.caller, message)?;
    Ok(back(visit, "/"))
}

/// Where the form wants to go on, if that is a page of this console.
fn back(visit: &Visit<'_>, usual: &str) -> String {
    let wanted = visit.fields.get("back").unwrap_or(usual);
    let is_here = wanted.starts_with('/')
        && !wanted.starts_with("//")
        && !wanted.contains(|c: char| c == '\\' || c.is_control());
    if is_here { wanted } else { usual }.to_owned()
}
