//! Names that cannot hold a wrong value.

use std::fmt;
use std::str::FromStr;

use crate::error::Refusal;
use crate::id::text_serde;
use crate::limit;

/// The name of an agent, in lower case: `[a-z0-9][a-z0-9._-]{0,63}`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AgentName(String);

impl AgentName {
    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether `text` (already in lower case) has the form of a name.
    pub(crate) fn is_name(text: &str) -> bool {
        let mut bytes = text.bytes();
        let first = bytes
            .next()
            .is_some_and(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
        first
            && text.len() <= 64
            && bytes.all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b"._-".contains(&b))
    }
}

impl FromStr for AgentName {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let lower = text.to_ascii_lowercase();
        if AgentName::is_name(&lower) {
            return Ok(AgentName(lower));
        }
        let problem = if text.is_empty() {
            "the agent's name is empty".to_owned()
        } else {
            format!("{text:?} is not a name for an agent")
        };
        Err(Refusal::input(problem).hint(
            "a name has 1 to 64 letters, digits, dots, dashes or underscores and begins with a letter or digit",
        ))
    }
}

/// One living instance of an agent, as its client names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionId(String);

impl SessionId {
    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for SessionId {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let printable = text.bytes().all(|b| b.is_ascii_graphic());
        if text.is_empty() || text.len() > 128 || !printable {
            return Err(Refusal::input(format!("{text:?} is not a session id"))
                .hint("a session id has 1 to 128 printable ASCII characters without spaces"));
        }
        Ok(SessionId(text.to_owned()))
    }
}

/// A label that a scheduler or client puts on something: a run, a task, a key, a message type.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Label(String);

impl Label {
    /// The label as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Label {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        if text.is_empty() || text.chars().any(char::is_control) {
            return Err(Refusal::input(format!("{text:?} is not a label"))
                .hint("a label is one line of text that is not empty"));
        }
        limit::bytes("the label", text, limit::LABEL)
            .map_err(|refusal| refusal.hint("a label names something: keep it short"))?;
        Ok(Label(text.to_owned()))
    }
}

macro_rules! as_text {
    ($($name:ident, $description:literal;)*) => {$(
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        text_serde!($name, $description);
    )*};
}

as_text! {
    AgentName, "An agent's name.";
    SessionId, "A session's id.";
    Label, "A label: one line of text.";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_compared_in_lower_case() {
        assert_eq!(
            "Backend-2".parse::<AgentName>().unwrap().as_str(),
            "backend-2"
        );
    }

    #[test]
    fn what_is_not_a_name_is_refused() {
        for text in [
            "",
            " ",
            "a b",
            "-a",
            ".a",
            "_a",
            "ä",
            "a/b",
            "a\n",
            &"a".repeat(65),
            "role:x",
        ] {
            assert!(text.parse::<AgentName>().is_err(), "{text:?}");
        }
        assert!("a".repeat(64).parse::<AgentName>().is_ok());
    }
}
