//! Channels: what is said to a role, a tag or everybody; and a letter to any address.

use askama::Template;
use inbox_core::{Address, EventId, Message, Mode, Priority, Refusal};
use inbox_ops::{AgentList, Channel, ChannelList, ChannelShow, Operation};

use super::html::{Html, ago, encoded, escape, short};
use super::mail::{agent, is_proven, said};
use super::size::{self, Part, Room};
use super::{Visit, written};

/// How many channels a page has.
const PAGE: usize = 100;

/// How many of those whom a channel reaches are named.
const NAMED: usize = 40;

/// How many addresses are offered to who writes.
const KNOWN: usize = 600;

struct ChannelLine {
    path: String,
    address: String,
    kind: &'static str,
    members: usize,
    said: String,
    who: Html,
    at: Option<Html>,
}

impl ChannelLine {
    fn of(visit: &Visit<'_>, channel: &Channel) -> Self {
        let latest = channel.latest.as_ref();
        ChannelLine {
            path: encoded(channel.address.as_str()),
            address: channel.address.to_string(),
            kind: match channel.mode {
                Mode::Role => "role",
                Mode::Tag => "tag",
                _ => "everybody",
            },
            members: channel.members.len(),
            said: latest.map(|it| short(&it.summary)).unwrap_or_default(),
            who: latest.map_or_else(Html::default, |it| agent(it.from_agent.as_str())),
            at: latest.map(|it| ago(it.created_at, visit.now)),
        }
    }
}

#[derive(Template)]
#[template(path = "channels.html")]
struct List {
    channels: Vec<ChannelLine>,
    part: Part,
}

pub(super) fn list(visit: &Visit<'_>) -> Result<(String, Html), Refusal> {
    let found = ChannelList {}.run(visit.inbox, visit.caller)?;
    let from = visit.fields.from();
    let shown = found.channels.iter().skip(from).take(PAGE);
    let channels: Vec<_> = shown
        .map(|channel| ChannelLine::of(visit, channel))
        .collect();
    let main = written(&List {
        part: Part::new(from, channels.len(), found.channels.len(), PAGE),
        channels,
    })?;
    Ok(("Channels".to_owned(), main))
}

struct Post {
    id: String,
    thread: String,
    from: Html,
    kind: String,
    summary: String,
    body: Html,
    at: Html,
    is_verified: bool,
}

impl Post {
    fn of(visit: &Visit<'_>, message: &Message) -> Self {
        let (summary, body) = said(message);
        Post {
            id: message.message_id.to_string(),
            thread: message.thread_id.to_string(),
            from: agent(message.from_agent.as_str()),
            kind: message.kind.to_string(),
            summary,
            body,
            at: ago(message.created_at, visit.now),
            is_verified: is_proven(message),
        }
    }
}

#[derive(Template)]
#[template(path = "channel.html")]
struct One<'a> {
    address: String,
    path: String,
    members: Vec<Html>,
    more: usize,
    posts: Vec<Post>,
    before: Option<i64>,
    is_newest: bool,
    guard: &'a str,
}

pub(super) fn one(visit: &Visit<'_>, name: &str) -> Result<(String, Html), Refusal> {
    let request = ChannelShow {
        id: name.parse::<Address>()?,
        limit: None,
        before_event: visit.fields.number("before").map(EventId),
    };
    let found = request.run(visit.inbox, visit.caller)?;
    let address = found.channel.address.to_string();
    let members = &found.channel.members;
    let (mut posts, mut before) = (Vec::new(), found.before_event);
    let mut room = Room::new(size::PAGE);
    for (message, event) in found.messages.iter().zip(&found.came_with).rev() {
        let post = Post::of(visit, message);
        if !room.take(post.body.size() + escape(&post.summary).len() + 700) {
            break;
        }
        before = Some(*event);
        posts.push(post);
    }
    if posts.len() == found.messages.len() {
        before = found.before_event;
    }
    posts.reverse();
    let main = written(&One {
        path: encoded(found.channel.address.as_str()),
        address: address.clone(),
        more: members.len().saturating_sub(NAMED),
        members: members
            .iter()
            .take(NAMED)
            .map(|name| agent(name.as_str()))
            .collect(),
        is_newest: visit.fields.get("before").is_none(),
        before: before.map(|event| event.0),
        posts,
        guard: visit.guard,
    })?;
    Ok((address, main))
}

#[derive(Template)]
#[template(path = "compose.html")]
struct Compose<'a> {
    to: &'a str,
    subject: &'a str,
    known: Vec<String>,
    priorities: Vec<(String, bool)>,
    guard: &'a str,
}

/// Everybody and everything that mail can be addressed to.
pub(super) fn known_addresses(visit: &Visit<'_>) -> Result<Vec<String>, Refusal> {
    let agents = AgentList::default().run(visit.inbox, visit.caller)?.agents;
    let channels = ChannelList {}.run(visit.inbox, visit.caller)?.channels;
    let names = agents.iter().map(|agent| agent.agent_id.to_string());
    let addresses = channels.iter().map(|channel| channel.address.to_string());
    Ok(names.chain(addresses).take(KNOWN).collect())
}

pub(super) fn compose(visit: &Visit<'_>) -> Result<(String, Html), Refusal> {
    let known = known_addresses(visit)?;
    let priorities = Priority::ALL
        .iter()
        .map(|priority| (priority.to_string(), *priority == Priority::Normal));
    let main = written(&Compose {
        to: visit.fields.get("to").unwrap_or_default(),
        subject: visit.fields.get("subject").unwrap_or_default(),
        known,
        priorities: priorities.collect(),
        guard: visit.guard,
    })?;
    Ok(("Write".to_owned(), main))
}
