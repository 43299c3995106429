//! Who a message is for.

use std::fmt;
use std::str::FromStr;

use crate::error::Refusal;
use crate::id::text_serde;
use crate::name::AgentName;
use crate::word::words;

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
    }
}

impl Mode {
    /// How long a message to such an address lives unless it says otherwise, in hours.
    pub const fn default_ttl_hours(self) -> Option<i64> {
        match self {
            Mode::Agent | Mode::Role => None,
            Mode::Tag => Some(7 * 24),
            Mode::Broadcast => Some(4),
        }
    }
}

/// An address as it is written: `quinn`, `role:architect`, `project:x`, `all`.
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

    /// An address as a store kept it.
    pub fn stored(mode: Mode, text: String) -> Self {
        Address { mode, text }
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
            None if AgentName::is_name(&lower) => Mode::Agent,
            Some(("role", value)) if AgentName::is_name(value) => Mode::Role,
            Some((space, value)) if AgentName::is_name(space) && AgentName::is_name(value) => {
                Mode::Tag
            }
            _ => {
                let problem = if text.is_empty() {
                    "the address is empty".to_owned()
                } else {
                    format!("{text:?} is not an address")
                };
                return Err(Refusal::input(problem)
                    .hint("write an agent's name, role:NAME, a tag such as project:NAME, or all"));
            }
        };
        Ok(Address { mode, text: lower })
    }
}

text_serde!(
    Address,
    "An agent's name, role:NAME, a tag such as project:NAME, or all."
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
        for text in ["", ":", "a:", ":b", "a b", "role:", "a:b:c"] {
            assert_eq!(mode(text), None, "{text:?}");
        }
    }
}
