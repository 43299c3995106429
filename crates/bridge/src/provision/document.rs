//! The profile of an agent of the roster: its entry and its card, and nothing else, so that the same gives the same.

use inbox_core::{Agent, AgentKind, SessionState};
use inbox_hcs::{AgentType, AiAgent, Capability, Participant, Profile, ProfileKind};
use serde_json::{Map, Value, json};

use crate::keys::PublishedFile;

/// The longest text about an agent, in characters.
const BIO: usize = 500;

/// The model of an agent whose card does not name it.
const UNKNOWN: &str = "unknown";

/// Beginnings of words that speak of a capability.
const WORDS: [(Capability, &[&str]); 19] = [
    (
        Capability::TextGeneration,
        &["writ", "text", "draft", "document"],
    ),
    (
        Capability::ImageGeneration,
        &["image", "picture", "illustrat"],
    ),
    (
        Capability::AudioGeneration,
        &["audio", "sound", "speech", "music"],
    ),
    (Capability::VideoGeneration, &["video", "film"]),
    (
        Capability::CodeGeneration,
        &[
            "code",
            "coding",
            "program",
            "implement",
            "refactor",
            "debug",
        ],
    ),
    (Capability::LanguageTranslation, &["translat"]),
    (Capability::Summarization, &["summar", "extract", "digest"]),
    (
        Capability::KnowledgeRetrieval,
        &["research", "knowledge", "reason", "retriev", "answer"],
    ),
    (
        Capability::DataIntegration,
        &["data", "chart", "visuali", "dashboard"],
    ),
    (
        Capability::MarketIntelligence,
        &["market", "trading", "price"],
    ),
    (Capability::TransactionAnalytics, &["transaction", "ledger"]),
    (Capability::SmartContractAudit, &["audit", "solidity"]),
    (Capability::Governance, &["govern", "voting", "vote"]),
    (
        Capability::SecurityMonitoring,
        &["security", "threat", "vulnerab"],
    ),
    (Capability::Compliance, &["complian", "regulat"]),
    (Capability::FraudDetection, &["fraud"]),
    (
        Capability::MultiAgent,
        &["coordinat", "delegat", "orchestrat", "agents"],
    ),
    (Capability::ApiIntegration, &["api", "apis", "integrat"]),
    (
        Capability::WorkflowAutomation,
        &["workflow", "automat", "pipeline", "deploy"],
    ),
];

/// What an agent's sessions say that it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Labels {
    /// The roles that it holds.
    pub roles: Vec<String>,
    /// The tags that it has.
    pub tags: Vec<String>,
}

impl Labels {
    /// Those of its sessions while it has some; else those that were published last, so that going home is no change.
    pub fn of(agent: &Agent, published: Option<&PublishedFile>) -> Self {
        let is_there = agent.state.is_some_and(|state| state != SessionState::Dead);
        let mut labels = match (is_there, published) {
            (false, Some(published)) => Labels {
                roles: published.roles.clone(),
                tags: published.tags.clone(),
            },
            _ => Labels {
                roles: agent.roles.clone(),
                tags: agent.tags.clone(),
            },
        };
        labels.roles.sort();
        labels.tags.sort();
        labels
    }
}

/// The profile of an agent with these topics.
pub fn profile(agent: &Agent, labels: &Labels, me: Participant) -> Profile {
    let card = agent.card.as_ref();
    let said = |place: &str| {
        let text = card?.pointer(place)?.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let phrases: Vec<String> = card
        .and_then(|card| card.pointer("/capabilities")?.as_array())
        .into_iter()
        .flatten()
        .filter_map(|phrase| phrase.as_str().map(str::to_owned))
        .collect();
    let kind = match agent.kind {
        AgentKind::Human => ProfileKind::Personal,
        AgentKind::Agent | AgentKind::System => ProfileKind::AiAgent(AiAgent {
            agent_type: AgentType::Autonomous,
            capabilities: capabilities(&phrases),
            model: said("/identity/model").unwrap_or_else(|| UNKNOWN.to_owned()),
            creator: said("/identity/department"),
        }),
    };
    let name = said("/identity/name").unwrap_or_else(|| agent.name.clone());
    let mut profile = Profile::new(name, kind);
    profile.alias = Some(agent.agent_id.to_string());
    profile.bio = said("/scope").or_else(|| agent.persona.as_deref().and_then(opening));
    profile.base_account = Some(me.account);
    profile.inbound_topic = Some(me.inbound_topic);
    profile.outbound_topic = Some(me.outbound_topic);
    let mut properties = Map::new();
    properties.insert("name".to_owned(), json!(agent.agent_id.as_str()));
    for (key, list) in [
        ("roles", &labels.roles),
        ("tags", &labels.tags),
        ("capabilities", &phrases),
    ] {
        if !list.is_empty() {
            properties.insert(key.to_owned(), Value::from(list.clone()));
        }
    }
    profile.properties = Some(properties);
    profile
}

/// The first paragraph, as far as it fits.
fn opening(text: &str) -> Option<String> {
    let first = text.trim().split("\n\n").next()?;
    let short: String = first.chars().take(BIO).collect();
    (!short.is_empty()).then_some(short)
}

/// What the standard calls what a card says; an agent of which nothing is known reads and writes.
fn capabilities(phrases: &[String]) -> Vec<Capability> {
    let words: Vec<String> = phrases
        .iter()
        .flat_map(|phrase| phrase.split(|letter: char| !letter.is_alphanumeric()))
        .map(str::to_lowercase)
        .collect();
    let speaks = |stems: &[&str]| {
        words
            .iter()
            .any(|word| stems.iter().any(|stem| word.starts_with(stem)))
    };
    let mut found: Vec<Capability> = WORDS
        .iter()
        .filter(|(_, stems)| speaks(stems))
        .map(|(capability, _)| *capability)
        .collect();
    if found.is_empty() {
        found.push(Capability::TextGeneration);
    }
    found
}
