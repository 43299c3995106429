//! Who a message is for.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::error::Refusal;
use crate::id::text_serde;
use crate::name::{AgentName, SessionId};
use crate::text::quoted;
use crate::word::{RefType, words};

words! {
    /// How an address is read.
    Mode "mode" {
        /// A bare name: that agent, whichever session it runs.
        Agent = 1 "agent",
        /// Whoever holds the role, now or later.
        Role = 2 "role",
        /// Every session with the tag.
        Tag = 3 "tag",
        /// Every living session.
        Broadcast = 4 "broadcast",
        /// One living instance of an agent.
        Session = 5 "session",
        /// An outside agent on the ledger, over its connection.
        Ledger = 6 "ledger",
        /// What notes are about; it reaches nobody by itself.
        Entity = 7 "entity",
    }
}

impl Mode {
    /// How long a message to such an address lives unless it says otherwise, in hours.
    pub const fn default_ttl_hours(self) -> Option<i64> {
        match self {
            Mode::Agent | Mode::Role | Mode::Ledger | Mode::Entity => None,
            Mode::Session => Some(24),
            Mode::Tag => Some(7 * 24),
            Mode::Broadcast => Some(4),
        }
    }

    /// Whether a message to such an address is acknowledged once, for everybody it reaches.
    pub const fn has_one_owner(self) -> bool {
        !matches!(self, Mode::Tag | Mode::Broadcast)
    }
}

/// An address as it is written: `quinn`, `role:architect`, `project:x`, `all`, a session's id, `0.0.5`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    mode: Mode,
    text: String,
}

impl Address {
    /// How the address is read.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// The address as it is written, in lower case.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The address of a session.
    pub fn session(id: &SessionId) -> Self {
        Address {
            mode: Mode::Session,
            text: id.as_str().to_ascii_lowercase(),
        }
    }

    /// The address of a role.
    pub fn role(name: &AgentName) -> Self {
        Address {
            mode: Mode::Role,
            text: format!("role:{name}"),
        }
    }

    /// Every living session.
    pub fn all() -> Self {
        Address {
            mode: Mode::Broadcast,
            text: "all".to_owned(),
        }
    }

    /// The entity that notes are about.
    pub fn entity(ref_type: RefType, ref_id: &str) -> Self {
        Address {
            mode: Mode::Entity,
            text: format!("{ref_type}:{ref_id}"),
        }
    }

    /// The text that a store keeps, which tells a session and an entity from what is written alike.
    pub fn stored(&self) -> Cow<'_, str> {
        match self.mode {
            Mode::Session => format!("@{}", self.text).into(),
            Mode::Entity => format!("#{}", self.text.replace(' ', "\u{a0}")).into(),
            // As plain SQL clients of the view `inbox` know it.
            Mode::Broadcast => "ALL".into(),
            _ => self.text.as_str().into(),
        }
    }

    /// An address as a store kept it.
    pub fn from_stored(text: &str) -> Result<Self, Refusal> {
        match text.split_at_checked(1) {
            Some(("@", id)) => Ok(Address {
                mode: Mode::Session,
                text: id.to_owned(),
            }),
            Some(("#", entity)) => Ok(Address {
                mode: Mode::Entity,
                text: entity.replace('\u{a0}', " "),
            }),
            _ => text.parse(),
        }
    }

    /// The name, when the address is a bare one.
    pub fn bare_name(&self) -> Option<AgentName> {
        (self.mode == Mode::Agent)
            .then(|| self.text.parse().ok())
            .flatten()
    }
}

impl From<&AgentName> for Address {
    fn from(name: &AgentName) -> Self {
        Address {
            mode: Mode::Agent,
            text: name.as_str().to_owned(),
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Address {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let lower = text.to_ascii_lowercase();
        let mode = match lower.split_once(':') {
            None if lower == "all" => Mode::Broadcast,
            None if is_on_ledger(&lower) => Mode::Ledger,
            None if AgentName::is_name(&lower) => Mode::Agent,
            // What cannot be a name may still be how a client names its session.
            None if lower.parse::<SessionId>().is_ok() => Mode::Session,
            Some(("role", value)) if AgentName::is_name(value) => Mode::Role,
            Some((space, value)) if AgentName::is_name(space) && AgentName::is_name(value) => {
                Mode::Tag
            }
            _ => {
                let problem = if text.is_empty() {
                    "the address is empty".to_owned()
                } else {
                    format!("{} is not an address", quoted(text))
                };
                return Err(Refusal::input(problem).hint(FORMS));
            }
        };
        Ok(Address { mode, text: lower })
    }
}

/// Reads addresses in an answer, which are as they stand: an entity's id is in its own letters and words, and what
/// would be read otherwise than it is written is one.
pub fn written<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<Address>, D::Error> {
    let texts: Vec<String> = serde::Deserialize::deserialize(deserializer)?;
    let read = |text: String| match text.parse::<Address>() {
        Ok(address) if address.text == text => Ok(address),
        other => {
            let entity = text.split_once(':').and_then(|(sort, id)| {
                let ref_type = sort.parse::<RefType>().ok()?;
                Some(Address::entity(ref_type, id))
            });
            let refused = |refusal: Refusal| serde::de::Error::custom(refusal.carried());
            entity.map_or_else(|| other.map_err(refused), Ok)
        }
    };
    texts.into_iter().map(read).collect()
}

/// What an address can be, for hints.
pub const FORMS: &str =
    "write an agent's name, role:NAME, a tag such as project:NAME, all, a session's id, or 0.0.N";

/// Whether a text is an account on the ledger, or a topic at an account.
fn is_on_ledger(text: &str) -> bool {
    let is_id = |text: &str| {
        text.strip_prefix("0.0.").is_some_and(|number| {
            number.bytes().all(|byte| byte.is_ascii_digit()) && number.parse::<u64>().is_ok()
        })
    };
    match text.split_once('@') {
        Some((topic, account)) => is_id(topic) && is_id(account),
        None => is_id(text),
    }
}

text_serde!(
    Address,
    "An agent's name, role:NAME, a tag such as project:NAME, all, a session's id, or 0.0.N."
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_says_how_it_is_read() {
        let mode = |text: &str| text.parse::<Address>().map(|address| address.mode()).ok();
        assert_eq!(mode("Quinn"), Some(Mode::Agent));
        assert_eq!(mode("role:architect"), Some(Mode::Role));
        assert_eq!(mode("project:x"), Some(Mode::Tag));
        assert_eq!(mode("ALL"), Some(Mode::Broadcast));
        assert_eq!(mode("0.0.4711"), Some(Mode::Ledger));
        assert_eq!(mode("0.0.12@0.0.4711"), Some(Mode::Ledger));
        assert_eq!(mode("0.0.x"), Some(Mode::Agent));
        assert_eq!(mode("ses_1@host"), Some(Mode::Session));
        for text in ["", ":", "a:", ":b", "a b", "role:", "a:b:c"] {
            assert_eq!(mode(text), None, "{text:?}");
        }
    }

    #[test]
    fn mail_lives_and_is_shared_as_its_address_says() {
        let of = |text: &str| text.parse::<Address>().unwrap().mode();
        let lives = |text: &str| of(text).default_ttl_hours();
        assert_eq!(lives("quinn"), None);
        assert_eq!(lives("role:ba"), None);
        assert_eq!(lives("0.0.5"), None);
        assert_eq!(lives("ses_1@host"), Some(24));
        assert_eq!(lives("project:x"), Some(168));
        assert_eq!(lives("all"), Some(4));
        for (text, is_one) in [
            ("quinn", true),
            ("role:ba", true),
            ("ses_1@host", true),
            ("0.0.5", true),
            ("project:x", false),
            ("all", false),
        ] {
            assert_eq!(of(text).has_one_owner(), is_one, "{text}");
        }
    }

    #[test]
    fn an_account_is_a_number_and_a_bare_name_is_an_agent() {
        let of = |text: &str| text.parse::<Address>().unwrap();
        for text in ["0.0.", "0.0.+1", "0.0.99999999999999999999", "1.0.5"] {
            assert_ne!(of(text).mode(), Mode::Ledger, "{text}");
        }
        assert_ne!(of("0.0.5@x").mode(), Mode::Ledger);
        assert_ne!(of("x@0.0.5").mode(), Mode::Ledger);
        let quinn: AgentName = "quinn".parse().unwrap();
        assert_eq!(of("Quinn").bare_name(), Some(quinn.clone()));
        assert_eq!(Address::from(&quinn), of("quinn"));
        assert_eq!(of("role:quinn").bare_name(), None);
        assert_eq!(Address::role(&quinn), of("role:quinn"));
        assert_eq!(of("all").bare_name(), None);
        assert!("".parse::<Address>().unwrap_err().message.contains("empty"));
        assert_eq!(Address::all().stored(), "ALL");
        assert_eq!(of("ses_1@host").stored(), "@ses_1@host");
        assert_eq!(of("Quinn").as_str(), "quinn");
    }

    #[test]
    fn what_is_written_in_an_answer_reads_as_it_stands() {
        let read = |text: &str| {
            let mut found = written(serde_json::json!([text]))?;
            Ok::<_, serde_json::Error>(found.remove(0))
        };
        for text in [
            "quinn",
            "role:ba",
            "project:x",
            "all",
            "task:T4",
            "task:Fix the Login",
        ] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert_eq!(read("task:T4").unwrap().mode(), Mode::Entity);
        assert_eq!(read("task:t4").unwrap().mode(), Mode::Tag);
        assert_eq!(read("Quinn").unwrap().to_string(), "quinn");
        assert!(read("no such thing").is_err());
    }

    #[test]
    fn what_is_stored_reads_back_as_it_was() {
        let session = "Ses/1".parse().unwrap();
        for address in [
            "quinn".parse().unwrap(),
            "0.0.5".parse().unwrap(),
            Address::session(&session),
            Address::entity(RefType::Task, "T 4"),
            Address::all(),
        ] {
            assert!(!address.stored().contains(' '));
            assert_eq!(Address::from_stored(&address.stored()).unwrap(), address);
        }
    }
}
