//! What users may decide: how long mail lives, when a session counts as dead, how far agents may go on
//! without a person, and who hears of what.

mod ledger;
mod notify;
mod preset;
mod run;

pub use ledger::{Connections, Policy, Signer, Tinybars};
pub use notify::{Notify, Rhythm, host as webhook_host};
pub use preset::{Preset, Reading, Speak, What};
pub use run::Run;

use std::path::PathBuf;

use inbox_core::{Address, AgentName, Mode, Priority, Refusal};
use serde::{Deserialize, Serialize};

/// The longest name of an agent.
const NAME: usize = 64;

/// Every setting, with its value when nobody said otherwise.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// How long messages live.
    pub expiry: Expiry,
    /// When somebody counts as gone.
    pub presence: Presence,
    /// How far agents may go on without a person.
    pub guard: Guard,
    /// What a prompt is made of.
    pub prompt: PromptSources,
    /// Who an agent's client is here.
    pub session: SessionDefaults,
    /// When an idle agent is woken.
    pub wake: WakeRules,
    /// What reaches people elsewhere, and by what.
    pub notify: Notify,
    /// How what agents remember is found.
    pub memory: MemoryRules,
    /// Whether and how the record lives on a ledger.
    pub ledger: Ledger,
    /// How `inbox run` works.
    pub run: Run,
    /// Who hears of what.
    #[serde(rename = "route")]
    pub routes: Vec<Route>,
    /// The folder beside the store: contracts, skills and archives are there.
    #[serde(skip)]
    pub folder: Option<PathBuf>,
}

impl Config {
    /// A file in a folder beside the store.
    pub fn beside(&self, folder: &str, file: &str) -> Option<PathBuf> {
        // Names come from messages: none may lead out of its folder.
        let is_plain = !file.contains(['/', '\\']) && !file.starts_with("..");
        let place = self.folder.as_ref().filter(|_| is_plain)?.join(folder);
        Some(if file.is_empty() {
            place
        } else {
            place.join(file)
        })
    }
}

/// How long a message to each sort of address lives, in hours; 0 is for ever.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Expiry {
    /// To an agent.
    pub agent_hours: i64,
    /// To a session.
    pub session_hours: i64,
    /// To a role.
    pub role_hours: i64,
    /// To a tag.
    pub tag_hours: i64,
    /// To all.
    pub broadcast_hours: i64,
    /// To an outside agent on the ledger.
    pub ledger_hours: i64,
}

/// When somebody counts as gone.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Presence {
    /// A session that was not seen for so many minutes is dead.
    pub dead_after_minutes: i64,
    /// Who writes to an agent that was not seen for so many minutes is told.
    pub silent_after_minutes: i64,
}

/// How far agents may go on without a person.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Guard {
    /// The longest chain of messages, each of which follows from the one before; 0 is no limit.
    pub max_hops: i64,
    /// How often agents may take turns in one thread; 0 is no limit.
    pub max_turns: i64,
    /// How often one agent may say the same to the same within the window; 0 is no limit.
    pub max_repeats: i64,
    /// The window for repeats, and for what a new message follows from.
    pub window_minutes: i64,
}

/// Where the parts of a prompt come from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PromptSources {
    /// The folder of skills; `skills` beside the store when it is not set.
    pub skills: Option<String>,
    /// A command that prints what the agent remembers. It is given the goal on its standard input.
    pub memory: Vec<String>,
}

/// How what agents remember is found.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MemoryRules {
    /// A command that prints where a text lies among others: the text is on its standard input, and it prints a list of numbers in JSON. Without one,
    /// memories are found by their words alone.
    pub embed: Vec<String>,
}

/// Who an agent's client is here, where neither it nor the environment says so.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SessionDefaults {
    /// The agent that a client's session belongs to; `{client}` and `{project}` stand for their names.
    pub agent: String,
    /// The roles that a new session holds.
    pub role: Vec<String>,
    /// The tags that a new session has.
    pub tags: Vec<String>,
}

/// When an idle agent is woken.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WakeRules {
    /// One wake in so many seconds at the most; what comes meanwhile is one wake.
    pub at_most_every_seconds: i64,
}

/// Whether and how the record lives on a ledger.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Ledger {
    /// The network: `local`, `testnet`, `previewnet`, `mainnet`, or a file; nothing while there is none.
    pub network: Option<String>,
    /// How requests of agents outside are met, and what may be paid for talking to them.
    pub connections: Connections,
    /// Which agents may sign what others propose.
    pub signers: Vec<Signer>,
}

/// Who hears of an event, and how urgently.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Route {
    /// The event: `task.blocked`, `task.complete`, `task.failed`, `phase.complete`, `*.note`, or
    /// `blocker.` and a blocker type.
    pub on: String,
    /// The addresses.
    pub to: Vec<Address>,
    /// How urgent the notice is, by name or number; the thread's own priority unless it is said.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "by_name_or_number"
    )]
    pub priority: Option<Priority>,
}

fn by_name_or_number<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Priority>, D::Error> {
    let value = serde_json::Value::deserialize(deserializer)?;
    let text = match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.to_string(),
    };
    serde_json::from_value(text.into())
        .map(Some)
        .map_err(serde::de::Error::custom)
}

impl Default for Expiry {
    fn default() -> Self {
        let hours = |mode: Mode| mode.default_ttl_hours().unwrap_or(0);
        Expiry {
            agent_hours: hours(Mode::Agent),
            session_hours: hours(Mode::Session),
            role_hours: hours(Mode::Role),
            tag_hours: hours(Mode::Tag),
            broadcast_hours: hours(Mode::Broadcast),
            ledger_hours: hours(Mode::Ledger),
        }
    }
}

impl Expiry {
    /// How long a message to such an address lives, in hours.
    pub fn hours(&self, mode: Mode) -> Option<i64> {
        let hours = match mode {
            Mode::Agent => self.agent_hours,
            Mode::Session => self.session_hours,
            Mode::Role => self.role_hours,
            Mode::Tag => self.tag_hours,
            Mode::Broadcast => self.broadcast_hours,
            Mode::Ledger => self.ledger_hours,
            Mode::Entity => 0,
        };
        (hours > 0).then_some(hours)
    }
}

impl Default for Presence {
    fn default() -> Self {
        Presence {
            dead_after_minutes: inbox_store::DEAD_AFTER_MS / 60_000,
            silent_after_minutes: 60,
        }
    }
}

impl Default for WakeRules {
    fn default() -> Self {
        WakeRules {
            at_most_every_seconds: 30,
        }
    }
}

impl Default for SessionDefaults {
    fn default() -> Self {
        SessionDefaults {
            agent: "{client}-{project}".to_owned(),
            role: Vec::new(),
            tags: Vec::new(),
        }
    }
}

impl SessionDefaults {
    /// Refuses what no session could begin with, by the setting's name.
    pub fn check(&self) -> Result<(), (&'static str, Refusal)> {
        self.agent("client", "project")
            .map_err(|refusal| ("session.agent", refusal))?;
        crate::session::labels(&self.role, &[]).map_err(|refusal| ("session.role", refusal))?;
        crate::session::labels(&[], &self.tags).map_err(|refusal| ("session.tags", refusal))?;
        Ok(())
    }

    /// The agent's name for a client in a project. What cannot be in a name becomes a dash.
    pub fn agent(&self, client: &str, project: &str) -> Result<AgentName, Refusal> {
        let text = self
            .agent
            .replace("{client}", client)
            .replace("{project}", project)
            .to_lowercase();
        let mut name = String::new();
        for c in text.chars() {
            if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') {
                name.push(c);
            } else if !name.is_empty() && !name.ends_with('-') {
                name.push('-');
            }
        }
        let name = name.trim_start_matches(['.', '_', '-']);
        let name: String = name.chars().take(NAME).collect();
        name.trim_end_matches(['-', '.', '_']).parse()
    }
}

impl Default for Guard {
    fn default() -> Self {
        Guard {
            max_hops: 200,
            max_turns: 200,
            max_repeats: 20,
            window_minutes: 60,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clients_agent_is_named_after_the_client_and_the_project() {
        let named = |agent: &str, project: &str| {
            let defaults = SessionDefaults {
                agent: agent.to_owned(),
                ..SessionDefaults::default()
            };
            let name = defaults.agent("claude", project);
            name.map(|name| name.to_string())
                .map_err(|refusal| refusal.code)
        };
        let usual = SessionDefaults::default().agent;
        for (project, wanted) in [
            ("blog", "claude-blog"),
            ("My Project (new)", "claude-my-project-new"),
            ("..", "claude"),
            ("", "claude"),
            ("über", "claude-ber"),
            (
                &"x".repeat(100),
                &format!("claude-{}", "x".repeat(57)) as &str,
            ),
        ] {
            assert_eq!(named(&usual, project).as_deref(), Ok(wanted), "{project}");
        }
        assert_eq!(named("Backend", "blog").as_deref(), Ok("backend"));
        assert_eq!(
            named("{project}", "日本"),
            Err(inbox_core::Code::InvalidInput)
        );
    }
}
