//! `card …`: an agent's typed identity.

use std::collections::BTreeSet;

use inbox_core::{AgentName, Code, EventId, Mode, Refusal, Scope};
use inbox_store::{Abort, Tx};
use inbox_wire::{Known, Problem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::agent::{as_roster, details};
use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::page::Page;
use crate::typed;

/// Check a card against its rules, the roster and the contracts that exist
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CardValidate {
    /// Check it as the card of this agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_agent: Option<AgentName>,
    /// The card
    pub card: Value,
}

/// Show an agent's card
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CardShow {
    /// Its name
    pub slug: AgentName,
}

/// Give an agent a card
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CardSet {
    /// Its name; the card's own slug unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slug: Option<AgentName>,
    /// Do it only while the card that it has is the one with this hash, as card show says
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_hash: Option<String>,
    /// The card
    pub card: Value,
}

/// A card.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct ShownCard {
    /// Whose it is, where it is somebody's.
    pub agent_id: Option<AgentName>,
    /// The card, or null.
    pub card: Option<Value>,
    /// What tells it from every other card; that of no card, too.
    #[serde(default)]
    pub hash: String,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Operation for CardValidate {
    const NAME: &'static str = "card validate";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = ShownCard;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<ShownCard, Refusal> {
        inbox.read(|tx| {
            check(tx, inbox, self.for_agent.as_ref(), &self.card)?;
            Ok(ShownCard {
                agent_id: slug_of(&self.card),
                card: Some(self.card.clone()),
                hash: hash(Some(&self.card)),
                next_event_id: tx.newest_event()?,
            })
        })
    }
}

impl Operation for CardShow {
    const NAME: &'static str = "card show";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Optional;
    type Answer = ShownCard;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<ShownCard, Refusal> {
        inbox.read(|tx| {
            let next_event_id = tx.newest_event()?;
            let agent = details(tx, &self.slug)?.agent;
            Ok(ShownCard {
                agent_id: Some(agent.agent_id),
                hash: hash(agent.card.as_ref()),
                card: agent.card,
                next_event_id,
            })
        })
    }
}

impl Operation for CardSet {
    const NAME: &'static str = "card set";
    const SCOPE: Option<Scope> = Some(Scope::Admin);
    const EFFECT: Effect = Effect::Write;
    const IDENTITY: Identity = Identity::Optional;
    const FOR_RESERVED: bool = true;
    type Answer = ShownCard;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<ShownCard, Refusal> {
        let Some(slug) = self.slug.clone().or_else(|| slug_of(&self.card)) else {
            return Err(Refusal::input("whose card is it? no name was given")
                .hint("inbox card set NAME FILE"));
        };
        inbox.write(self, &as_roster(caller), |tx, _| {
            let mut found = details(tx, &slug)?;
            check(tx, inbox, Some(&slug), &self.card)?;
            let is_hash = hash(found.agent.card.as_ref());
            if self.if_hash.as_ref().is_some_and(|was| *was != is_hash) {
                let message = format!("the card of {slug} was changed by somebody else");
                return Err(Refusal::new(Code::AlreadyExists, message)
                    .hint(format!("inbox card show {slug} shows what it is now"))
                    .detail("hash", is_hash)
                    .into());
            }
            found.agent.card = Some(self.card.clone());
            tx.set_agent(&found)?;
            Ok(ShownCard {
                agent_id: Some(slug.clone()),
                hash: hash(Some(&self.card)),
                card: Some(self.card.clone()),
                next_event_id: EventId(0),
            })
        })
    }
}

/// What tells a card from every other.
fn hash(card: Option<&Value>) -> String {
    let text = card.map_or_else(|| "null".to_owned(), ToString::to_string);
    let digest = Sha256::digest(text);
    let first = digest.iter().take(16);
    first.map(|byte| format!("{byte:02x}")).collect()
}

fn slug_of(card: &Value) -> Option<AgentName> {
    card.pointer("/identity/slug")?.as_str()?.parse().ok()
}

/// Checks a card before it is kept.
pub(crate) fn check(
    tx: &mut Tx<'_>,
    inbox: &Inbox,
    agent: Option<&AgentName>,
    card: &Value,
) -> Result<(), Abort> {
    let known = known(tx, inbox)?;
    let mut problems = inbox_wire::validate_card(card, &known);
    if let (Some(agent), Some(slug)) = (agent, slug_of(card))
        && *agent != slug
    {
        problems.push(Problem::new(
            "/identity/slug",
            format!("is {slug}, and the card is for {agent}"),
        ));
    }
    if problems.is_empty() {
        Ok(())
    } else {
        let refusal = typed::refusal(Code::InvalidWire, "the card breaks its rules", &problems);
        Err(match refusal.code {
            Code::InvalidWire => refusal.hint(
                "inbox wire schema agent-card prints the rules; inbox agent list shows who there is",
            ),
            _ => refusal,
        }
        .into())
    }
}

/// What cards may refer to: who is on the roster, the roles that somebody holds or held, the contracts.
fn known(tx: &mut Tx<'_>, inbox: &Inbox) -> Result<Known, Abort> {
    let agents = tx.agents(None)?.into_iter();
    let roles: BTreeSet<String> = tx
        .addresses(Mode::Role)?
        .into_iter()
        .filter_map(|address| address.as_str().strip_prefix("role:").map(str::to_owned))
        .collect();
    Ok(Known {
        agents: agents
            .map(|found| found.agent.agent_id.to_string())
            .collect(),
        roles,
        contracts: inbox.contracts().into_iter().collect(),
    })
}

impl Answer for ShownCard {
    fn is_something(&self) -> bool {
        self.card.is_some()
    }

    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        match &self.card {
            Some(card) => {
                Page::default().text(serde_json::to_string_pretty(card).unwrap_or_default())
            }
            None => Page::default().line("no card".to_owned()),
        }
    }
}
