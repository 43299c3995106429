//! Whom agents here are connected with on the ledger, what they may pay there, and who signs what.

use std::fmt;
use std::str::FromStr;

use inbox_core::{AgentName, Refusal};
use serde::{Deserialize, Serialize};

use super::Ledger;

/// How many tinybars are one HBAR.
const WHOLE: i64 = 100_000_000;

/// How many digits stand behind the point.
const DIGITS: usize = 8;

/// How requests of agents outside are met.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Connections {
    /// What becomes of a request: `accept`, `ask` a person, or `refuse`.
    pub policy: Policy,
    /// Accounts that are always accepted.
    pub accept: Vec<String>,
    /// Accounts that are always refused.
    pub refuse: Vec<String>,
    /// What the other pays for a message on a topic that is made here, in HBAR; nothing unless it is set.
    pub fee: Option<Tinybars>,
    /// What an agent may pay for a message on a topic that takes fees, in HBAR.
    pub max_fee: Tinybars,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Policy {
    /// It is accepted.
    Accept,
    /// A person is asked.
    #[default]
    Ask,
    /// It is refused.
    Refuse,
}

impl Connections {
    /// What becomes of a request of this account.
    pub fn policy(&self, account: &str) -> Policy {
        let is_in = |list: &[String]| list.iter().any(|listed| listed == account);
        if is_in(&self.refuse) {
            Policy::Refuse
        } else if is_in(&self.accept) {
            Policy::Accept
        } else {
            self.policy
        }
    }
}

/// An agent that may sign proposals of one sort.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Signer {
    /// Who.
    pub agent: AgentName,
    /// The sort: `transfer`, or another that an approval names.
    pub kind: String,
    /// The most that one may take of the account that signs, in HBAR, with what the network may take of it.
    #[serde(default)]
    pub max: Tinybars,
}

impl Ledger {
    /// Whether an agent may sign a proposal of this sort that takes so much.
    pub fn may_sign(&self, agent: &AgentName, kind: &str, tinybars: i64) -> bool {
        self.signers
            .iter()
            .any(|signer| signer.agent == *agent && signer.covers(kind, tinybars))
    }

    /// The agents that may sign a proposal of this sort that takes so much.
    pub fn signers(&self, kind: &str, tinybars: i64) -> Vec<AgentName> {
        let mut found: Vec<AgentName> = Vec::new();
        for signer in &self.signers {
            if signer.covers(kind, tinybars) && !found.contains(&signer.agent) {
                found.push(signer.agent.clone());
            }
        }
        found
    }

    /// Refuses what is no account, by the setting's name.
    pub fn check(&self) -> Result<(), (&'static str, Refusal)> {
        let lists = [
            ("ledger.connections.accept", &self.connections.accept),
            ("ledger.connections.refuse", &self.connections.refuse),
        ];
        for (name, list) in lists {
            for account in list {
                AgentName::of_account(account).map_err(|refusal| (name, refusal))?;
            }
        }
        Ok(())
    }
}

impl Signer {
    fn covers(&self, kind: &str, tinybars: i64) -> bool {
        self.kind == kind && tinybars <= self.max.0
    }
}

/// An amount of HBAR as people write it, `2` or `0.5`, in tinybars.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Tinybars(pub i64);

impl FromStr for Tinybars {
    type Err = Refusal;

    /// Never below zero, and no more digits than there are tinybars.
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let read = || {
            let (whole, part) = text.split_once('.').unwrap_or((text, "0"));
            let is_plain = |digits: &str| {
                !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
            };
            if !is_plain(whole) || !is_plain(part) || part.len() > DIGITS {
                return None;
            }
            let whole: i64 = whole.parse().ok()?;
            let part: i64 = format!("{part:0<DIGITS$}").parse().ok()?;
            whole.checked_mul(WHOLE)?.checked_add(part).map(Tinybars)
        };
        read().ok_or_else(|| {
            let shown = inbox_core::text::quoted(text);
            Refusal::input(format!("{shown} is not an amount of HBAR"))
                .hint("write it as \"2\" or \"0.5\"; the smallest is \"0.00000001\"")
        })
    }
}

impl fmt::Display for Tinybars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{}.{:08}", self.0 / WHOLE, self.0 % WHOLE);
        f.write_str(text.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl Serialize for Tinybars {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Tinybars {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|refusal: Refusal| serde::de::Error::custom(refusal.carried()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_amount_is_written_as_it_is_read() {
        for (text, tinybars) in [("0", 0), ("5", 500_000_000), ("0.5", 50_000_000)] {
            assert_eq!(text.parse(), Ok(Tinybars(tinybars)));
            assert_eq!(Tinybars(tinybars).to_string(), text);
        }
        for wrong in ["", "-1", "1e3", ".5", "0.000000001", "92233720368.54775808"] {
            assert!(wrong.parse::<Tinybars>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_list_is_stronger_than_the_policy_and_a_refusal_stronger_than_both() {
        let connections = Connections {
            policy: Policy::Accept,
            accept: vec!["0.0.5".into(), "0.0.6".into()],
            refuse: vec!["0.0.6".into()],
            ..Connections::default()
        };
        assert_eq!(connections.policy("0.0.5"), Policy::Accept);
        assert_eq!(connections.policy("0.0.6"), Policy::Refuse);
        assert_eq!(connections.policy("0.0.7"), Policy::Accept);
        assert_eq!(Connections::default().policy("0.0.7"), Policy::Ask);
    }
}
