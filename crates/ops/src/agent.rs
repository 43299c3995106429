//! `agent …`: who is on the roster.

use inbox_core::{
    Agent, AgentKind, AgentName, Code, EventId, Label, Refusal, Scope, Thread, limit, name,
};
use inbox_store::{Abort, AgentDetails, Tx};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation, must_be_free};
use crate::lock::{must_be_a_person, must_be_proven};
use crate::page::Page;
use crate::read::count_unread;

mod mail;
mod work;

pub use mail::Received;
use work::{HELD, work};
pub use work::{Holding, Work};

/// Declares a request that sets what is kept of an agent.
/// What takes an id of the ledger away.
const NONE: &str = "none";

macro_rules! agent_request {
    ($(#[$doc:meta])* $request:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $request {
            /// Its name, which is its address
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub slug: Option<AgentName>,
            /// Say what people call it; without a name before, this is the name
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub name: Option<String>,
            /// Say what it is: an agent, a human
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub kind: Option<AgentKind>,
            /// Say who it is, in prose, where it has no card
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub persona: Option<String>,
            /// Give its account on the ledger; none takes it away
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub account_id: Option<Label>,
            /// Give the topic that it receives on; none takes it away
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub inbound_topic_id: Option<Label>,
            /// Give the topic that it writes on; none takes it away
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub outbound_topic_id: Option<Label>,
            /// Give its card
            #[serde(default, skip_serializing_if = "Option::is_none")]
            pub card: Option<serde_json::Value>,
        }

        impl $request {
            /// The agent that is meant, and what people call it.
            fn meant(&self) -> Result<(AgentName, Option<String>), Refusal> {
                match (&self.slug, &self.name) {
                    (Some(slug), name) => Ok((slug.clone(), name.clone())),
                    (None, Some(name)) => Ok((name.parse()?, None)),
                    (None, None) => Err(Refusal::input("which agent? no name was given")
                        .hint(concat!("inbox ", "agent add NAME"))),
                }
            }

            fn change(
                &self,
                tx: &mut Tx<'_>,
                inbox: &Inbox,
                title: Option<String>,
                details: &mut AgentDetails,
            ) -> Result<(), Abort> {
                let agent = &mut details.agent;
                if let Some(title) = title {
                    limit::required("the name", &title, 200)?;
                    title_is_free(tx, &agent.agent_id, &title)?;
                    agent.name = title;
                }
                if let Some(kind) = self.kind {
                    if kind == AgentKind::System {
                        return Err(Refusal::input("only inbox itself is of the kind system")
                            .hint("use one of agent, human").into());
                    }
                    if kind != agent.kind && name::RESERVED.contains(&agent.agent_id.as_str()) {
                        return Err(Refusal::new(
                            Code::NotAllowed,
                            format!("{} is a reserved name, and is what it is", agent.agent_id),
                        )
                        .hint("inbox agent add NAME --kind human makes a person's own name").into());
                    }
                    agent.kind = kind;
                }
                if let Some(persona) = &self.persona {
                    limit::bytes("the persona", persona, limit::NOTE)?;
                    agent.persona = Some(persona.clone()).filter(|text| !text.is_empty());
                }
                for (given, kept) in [
                    (&self.account_id, &mut agent.account_id),
                    (&self.inbound_topic_id, &mut agent.inbound_topic_id),
                    (&self.outbound_topic_id, &mut agent.outbound_topic_id),
                ] {
                    match given {
                        None => {}
                        Some(none) if none.as_str() == NONE => *kept = None,
                        Some(id) => {
                            on_ledger(id.as_str())?;
                            *kept = Some(id.to_string());
                        }
                    }
                }
                if let Some(card) = &self.card {
                    crate::card::check(tx, inbox, Some(&agent.agent_id), card)?;
                    agent.card = Some(card.clone());
                    agent.has_card = true;
                }
                Ok(())
            }
        }
    };
}

agent_request! {
    /// Put an agent, or a person, on the roster
    AgentAdd
}
agent_request! {
    /// Change what is kept of an agent
    AgentSet
}

/// List the agents on the roster
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentList {
    /// List only agents of this kind
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<AgentKind>,
    /// List only these; repeat for several
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub name: Vec<AgentName>,
    /// Say also what each holds, in which programs it runs, and how much it has not read
    #[serde(default)]
    pub work: bool,
}

/// Show one agent: who it is, what it holds and how much it has not read
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentShow {
    /// Its name
    pub slug: AgentName,
}

/// Take an agent off the roster
///
/// Its mail and its history stay. It is back with its next write.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentRemove {
    /// Its name
    pub slug: AgentName,
}

/// One agent.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct OneAgent {
    /// The agent.
    pub agent: Agent,
    /// What it holds now; `agent show` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holds: Option<Vec<Thread>>,
    /// How much it has not read, counted up to 1000; `agent show` only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unread: Option<i64>,
    /// Where to go on.
    pub next_event_id: EventId,
}

/// The roster.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Agents {
    /// The agents, by name.
    pub agents: Vec<Agent>,
    /// What each does, in the same order; `agent list --work` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub work: Vec<Work>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for AgentAdd {
    const NAME: &'static str = "agent add";
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Optional;
    const FOR_RESERVED: bool = true;
    type Answer = OneAgent;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<OneAgent, Refusal> {
        let (slug, title) = self.meant()?;
        inbox.write(self, &as_roster(caller), |tx, _| {
            must_be_free(tx, &slug)?;
            must_be_proven(tx, caller, &slug)?;
            if self.kind == Some(AgentKind::Human) {
                must_be_a_person(tx, caller, "who is a person")?;
            }
            if let Some(found) = tx.agents(Some(&slug))?.first()
                && found.agent.removed_at.is_none()
            {
                return Err(Refusal::new(
                    Code::AlreadyExists,
                    format!("{slug} is on the roster already"),
                )
                .hint(format!("inbox agent set {slug} changes it"))
                .into());
            }
            tx.ensure_agent_of(&slug, self.kind.unwrap_or(AgentKind::Agent))?;
            let mut details = details(tx, &slug)?;
            details.agent.removed_at = None;
            self.change(tx, inbox, title.clone(), &mut details)?;
            tx.set_agent(&details)?;
            Ok(one(details.agent))
        })
    }
}

impl Operation for AgentSet {
    const NAME: &'static str = "agent set";
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Optional;
    const FOR_RESERVED: bool = true;
    type Answer = OneAgent;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<OneAgent, Refusal> {
        let (slug, title) = self.meant()?;
        inbox.write(self, &as_roster(caller), |tx, _| {
            let mut details = details(tx, &slug)?;
            must_be_proven(tx, caller, &slug)?;
            if self.kind.is_some_and(|kind| kind != details.agent.kind) {
                must_be_a_person(tx, caller, "who is a person")?;
            }
            self.change(tx, inbox, title.clone(), &mut details)?;
            tx.set_agent(&details)?;
            Ok(one(details.agent))
        })
    }
}

impl Operation for AgentList {
    const NAME: &'static str = "agent list";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = Agents;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Agents, Refusal> {
        inbox.read(|tx| {
            let next_event_id = tx.newest_event()?;
            let (details, sessions) = tx.agents_and_sessions(None)?;
            let agents = details.into_iter().map(|details| Agent {
                // A list of cards would be a book.
                card: None,
                persona: None,
                ..details.agent
            });
            let agents = agents.filter(|agent| self.kind.is_none_or(|kind| kind == agent.kind));
            let is_named =
                |agent: &Agent| self.name.is_empty() || self.name.contains(&agent.agent_id);
            let agents = agents.filter(is_named);
            let agents: Vec<Agent> = agents.collect();
            let work = if self.work {
                work(tx, &agents, sessions)?
            } else {
                Vec::new()
            };
            Ok(Agents {
                agents,
                work,
                next_event_id,
            })
        })
    }
}

impl Operation for AgentShow {
    const NAME: &'static str = "agent show";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = OneAgent;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<OneAgent, Refusal> {
        inbox.read(|tx| {
            let next_event_id = tx.newest_event()?;
            let details = details(tx, &self.slug)?;
            let reader = tx.reader(&self.slug, None)?;
            let (unread, _) = count_unread(tx, &reader)?;
            let mut holds: Vec<Thread> = Vec::new();
            for row in tx.held_threads(HELD)? {
                if row.holder.as_ref() == Some(&self.slug) {
                    holds.push(row.thread);
                }
            }
            Ok(OneAgent {
                holds: Some(holds),
                unread: Some(unread),
                next_event_id,
                ..one(details.agent)
            })
        })
    }
}

impl Operation for AgentRemove {
    const NAME: &'static str = "agent remove";
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Optional;
    const FOR_RESERVED: bool = true;
    type Answer = OneAgent;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<OneAgent, Refusal> {
        inbox.write(self, &as_roster(caller), |tx, _| {
            let mut details = details(tx, &self.slug)?;
            must_be_proven(tx, caller, &self.slug)?;
            for row in tx.sessions(Some(&self.slug))? {
                tx.set_session(&row, inbox_core::SessionState::Dead)?;
            }
            details.agent.removed_at = Some(tx.now());
            tx.set_agent(&details)?;
            Ok(one(details.agent))
        })
    }
}

/// The roster may be changed by whoever is there: without a name, by inbox itself.
pub(crate) fn as_roster(caller: &Caller) -> Caller {
    let mut caller = caller.clone();
    if caller.agent.is_none() && caller.lease.is_none() && caller.session.is_none() {
        caller.agent = Some(AgentName::system());
    }
    caller
}

fn one(agent: Agent) -> OneAgent {
    OneAgent {
        agent,
        holds: None,
        unread: None,
        next_event_id: EventId(0),
    }
}

/// What is kept of an agent, or the refusal that says there is none.
pub(crate) fn details(tx: &mut Tx<'_>, slug: &AgentName) -> Result<AgentDetails, Abort> {
    tx.agents(Some(slug))?.into_iter().next().ok_or_else(|| {
        Refusal::new(Code::AgentNotFound, format!("there is no agent {slug}"))
            .hint(format!(
                "inbox agent list shows who there is; inbox agent add {slug} adds it"
            ))
            .detail("agent_id", slug.as_str())
            .into()
    })
}

/// Refuses what people would take for somebody else.
fn title_is_free(tx: &mut Tx<'_>, slug: &AgentName, title: &str) -> Result<(), Abort> {
    if let Some(reserved) = name::reserved(title) {
        return Err(Refusal::new(
            Code::NotAllowed,
            format!("{title:?} looks like the reserved name {reserved}"),
        )
        .hint("choose a name that nobody takes for the person or for inbox itself")
        .into());
    }
    let seen = name::skeleton(title);
    for other in tx.agents(None)? {
        let other = other.agent;
        let is_alike = [other.agent_id.as_str(), &other.name]
            .iter()
            .any(|name| name::skeleton(name) == seen);
        if other.agent_id != *slug && is_alike {
            return Err(Refusal::new(
                Code::AlreadyExists,
                format!("{title:?} looks like {}", other.agent_id),
            )
            .hint("choose a name that nobody takes for another agent")
            .into());
        }
    }
    Ok(())
}

fn on_ledger(id: &str) -> Result<(), Refusal> {
    match id.parse::<inbox_core::Address>() {
        Ok(address) if address.mode() == inbox_core::Mode::Ledger && !id.contains('@') => Ok(()),
        _ => Err(Refusal::input(format!("{id:?} is not an id on the ledger"))
            .hint("accounts and topics are written 0.0.N")),
    }
}

impl Answer for OneAgent {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let mut page = Page::default().agents(std::slice::from_ref(&self.agent));
        if let Some(persona) = &self.agent.persona {
            page = page.text(persona.clone());
        }
        if let Some(unread) = self.unread {
            page = page.line(format!("{unread} unread"));
        }
        for thread in self.holds.iter().flatten() {
            page = page.thread_line(thread);
        }
        page
    }
}

impl Answer for Agents {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        if self.work.is_empty() {
            return Page::default().agents(&self.agents);
        }
        work::page(&self.agents, &self.work)
    }
}
