//! `channel …`: what is said to a role, a tag or everybody, as one conversation.

use std::collections::BTreeSet;

use inbox_core::{
    Address, AgentName, EventId, Message, Mode, Refusal, Session, SessionState, limit,
};
use inbox_store::{Abort, Heard, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::page::{Cell, Page};

/// How many messages are shown unless told otherwise.
const USUAL: i64 = 50;

/// How many channels there are at the most.
const MOST: i64 = 500;

/// List the channels: every role and tag that was written to or is held, and all
///
/// The one that was written to last comes first.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelList {}

/// Show what was said in a channel, whoever it reached
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ChannelShow {
    /// The channel: role:NAME, a tag such as project:NAME, or all
    pub id: Address,
    /// Show at most so many messages; 50 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Show what came before this event
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before_event: Option<EventId>,
}

/// Channels.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Channels {
    /// The one that was written to last is first.
    pub channels: Vec<Channel>,
    /// Where to go on.
    pub next_event_id: EventId,
}

/// A channel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Channel {
    /// What one writes to.
    pub address: Address,
    /// How it is read.
    pub mode: Mode,
    /// Whom it reaches now.
    pub members: Vec<AgentName>,
    /// What was said last.
    pub latest: Option<Message>,
}

/// What was said in a channel.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Posts {
    /// The channel.
    pub channel: Channel,
    /// The messages, oldest first.
    pub messages: Vec<Message>,
    /// The event before which there is more; null where there is not.
    pub before_event: Option<EventId>,
    /// The events that the messages came with.
    #[serde(skip)]
    pub came_with: Vec<EventId>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for ChannelList {
    const NAME: &'static str = "channel list";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = Channels;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Channels, Refusal> {
        inbox.read(|tx| {
            let next_event_id = tx.newest_event()?;
            let sessions = living(tx)?;
            let mut heard = tx.heard(MOST)?;
            if !heard.iter().any(|it| it.address == Address::all()) {
                heard.push(Heard {
                    address: Address::all(),
                    latest: None,
                });
            }
            let mut channels = Vec::new();
            for Heard { address, latest } in heard {
                let at = latest.as_ref().map(|(event, _)| *event);
                let channel = channel(address, &sessions, latest);
                channels.push((std::cmp::Reverse(at), channel));
            }
            channels.sort_by(|a, b| (a.0, &a.1.address).cmp(&(b.0, &b.1.address)));
            Ok(Channels {
                channels: channels.into_iter().map(|(_, channel)| channel).collect(),
                next_event_id,
            })
        })
    }
}

impl Operation for ChannelShow {
    const NAME: &'static str = "channel show";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = Posts;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Posts, Refusal> {
        let limit = limit::in_range("--limit", self.limit.unwrap_or(USUAL), 1, limit::PAGE_MAX)?;
        if !matches!(self.id.mode(), Mode::Role | Mode::Tag | Mode::Broadcast) {
            return Err(Refusal::input(format!("{} is no channel", self.id)).hint(
                "inbox channel list shows those there are; a channel is role:NAME, a tag or all",
            ));
        }
        inbox.read(|tx| {
            let next_event_id = tx.newest_event()?;
            let sessions = living(tx)?;
            let before = self.before_event.unwrap_or(EventId(i64::MAX));
            let mut found = tx.posted_to(&self.id, before, limit + 1)?;
            let shown = usize::try_from(limit).unwrap_or(usize::MAX);
            let is_cut = found.len() > shown;
            found.truncate(shown);
            let before_event = found.last().map(|(event, _)| *event).filter(|_| is_cut);
            let channel = channel(self.id.clone(), &sessions, found.first().cloned());
            found.reverse();
            let (came_with, messages) = found.into_iter().unzip();
            Ok(Posts {
                channel,
                messages,
                before_event,
                came_with,
                next_event_id,
            })
        })
    }
}

fn living(tx: &mut Tx<'_>) -> Result<Vec<Session>, Abort> {
    let rows = tx.sessions(None)?.into_iter().map(|row| row.session);
    Ok(rows
        .filter(|session| session.state != SessionState::Dead)
        .collect())
}

fn channel(address: Address, sessions: &[Session], latest: Option<(EventId, Message)>) -> Channel {
    let is_reached = |session: &&Session| match address.mode() {
        Mode::Role => session
            .roles
            .iter()
            .any(|role| address.as_str() == format!("role:{role}")),
        Mode::Tag => session.tags.iter().any(|tag| address.as_str() == tag),
        _ => session.state == SessionState::Alive,
    };
    let members: BTreeSet<AgentName> = sessions
        .iter()
        .filter(is_reached)
        .map(|session| session.agent_id.clone())
        .collect();
    Channel {
        mode: address.mode(),
        address,
        members: members.into_iter().collect(),
        latest: latest.map(|(_, message)| message),
    }
}

impl Answer for Channels {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let rows = self.channels.iter().map(|channel| {
            let latest = channel.latest.as_ref();
            vec![
                Cell::Text(channel.address.to_string()),
                Cell::Text(channel.members.len().to_string()),
                latest.map_or(Cell::Text(String::new()), |it| Cell::Time(it.created_at)),
                Cell::Text(latest.map(|it| it.summary.clone()).unwrap_or_default()),
            ]
        });
        Page::default().table(vec!["CHANNEL", "REACHES", "LAST", "SAID"], rows.collect())
    }
}

impl Answer for Posts {
    fn is_something(&self) -> bool {
        !self.messages.is_empty()
    }

    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        if self.messages.is_empty() {
            return Page::default().line(format!("nothing was said to {}", self.channel.address));
        }
        self.messages.iter().fold(Page::default(), Page::message)
    }
}
