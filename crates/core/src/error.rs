//! The one table of error codes, and the refusal that carries them.
//!
//! A code's name, exit status, HTTP status and retry advice are a stable contract; the message and
//! the hint are for people and may change.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::text::unsaid;

/// The exit status of a successful answer that found nothing or timed out: an outcome, not an error.
pub const EXIT_NOTHING: u8 = 10;

/// When the same request may succeed if it is sent again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Not without a change to the request.
    Never,
    /// After somebody else's lease or change has ended.
    Later,
    /// At once, with the same `--key`.
    Now,
}

macro_rules! codes {
    ($($variant:ident $name:literal exit $exit:literal http $http:literal retry $retry:ident, $what:literal;)*) => {
        /// Why a request was refused. The name is what programs match on.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $(#[doc = $what] $variant,)* }

        impl Code {
            /// Every code, in the order of the exit status.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The name in JSON.
            pub const fn name(self) -> &'static str { match self { $(Code::$variant => $name,)* } }

            /// The exit status of the command line.
            pub const fn exit(self) -> u8 { match self { $(Code::$variant => $exit,)* } }

            /// The HTTP status.
            pub const fn http(self) -> u16 { match self { $(Code::$variant => $http,)* } }

            /// Whether sending the request again can help.
            pub const fn retry(self) -> Retry { match self { $(Code::$variant => Retry::$retry,)* } }

            /// What the code means, in one sentence.
            pub const fn meaning(self) -> &'static str { match self { $(Code::$variant => $what,)* } }
        }
    };
}

codes! {
    LeaseConflict "lease_conflict" exit 20 http 409 retry Later,
        "Somebody holds a live lease on the thread.";
    LeaseLost "lease_lost" exit 20 http 409 retry Never,
        "The caller does not hold the thread any more: its lease ended, was taken over, or needs its token.";
    KeyConflict "key_conflict" exit 20 http 409 retry Never,
        "The idempotency key was used before with other content.";
    AlreadyExists "already_exists" exit 20 http 409 retry Never,
        "What should be made is there already, or was done by somebody else.";
    VerifyMismatch "verify_mismatch" exit 20 http 409 retry Never,
        "A copy of a store differs from what it was made of, or a topic's history from its hashes.";
    InvalidInput "invalid_input" exit 30 http 400 retry Never,
        "An argument is missing, malformed, unknown or out of range.";
    TooLarge "too_large" exit 30 http 413 retry Never,
        "A text is longer than a message may carry.";
    UnknownVersion "unknown_version" exit 30 http 400 retry Never,
        "A Wire or card has a version that this program does not know.";
    InvalidWire "invalid_wire" exit 30 http 422 retry Never,
        "A Wire or card breaks its rules; the details name every problem by its JSON pointer.";
    ContractUnmet "contract_unmet" exit 30 http 422 retry Never,
        "The result does not meet the output contract of the brief.";
    InvalidTransition "invalid_transition" exit 30 http 422 retry Never,
        "The thread's status does not allow this step.";
    NotAllowed "not_allowed" exit 30 http 403 retry Never,
        "The caller may not do this to this thread.";
    Locked "locked" exit 30 http 403 retry Never,
        "The name is a person's who has locked it, and her passphrase was not given.";
    Unauthorized "unauthorized" exit 30 http 401 retry Never,
        "No token that is valid here came with the request.";
    RecipientDead "recipient_dead" exit 30 http 410 retry Never,
        "The session that the message is for has ended.";
    LoopGuard "loop_guard" exit 30 http 429 retry Never,
        "Agents are going round in a circle without a person; the person has been told.";
    RateLimited "rate_limited" exit 30 http 429 retry Later,
        "The server has as much to do as it takes on at once.";
    StoreNotFound "store_not_found" exit 40 http 404 retry Never,
        "There is no store where one was looked for.";
    ThreadNotFound "thread_not_found" exit 40 http 404 retry Never,
        "No thread has this id.";
    MessageNotFound "message_not_found" exit 40 http 404 retry Never,
        "No message has this id.";
    AgentNotFound "agent_not_found" exit 40 http 404 retry Never,
        "No agent has this name.";
    SessionNotFound "session_not_found" exit 40 http 404 retry Never,
        "No session has this id.";
    MemoryNotFound "memory_not_found" exit 40 http 404 retry Never,
        "The caller remembers nothing with this id.";
    TokenNotFound "token_not_found" exit 40 http 404 retry Never,
        "No token has this id.";
    TopicNotFound "topic_not_found" exit 40 http 404 retry Never,
        "No topic, connection or schedule of the network has this id.";
    AccountNotFound "account_not_found" exit 40 http 404 retry Never,
        "No account of the network has this id.";
    Ledger "ledger" exit 50 http 502 retry Later,
        "The ledger's network could not be reached, or did not do what it was asked.";
    Storage "storage" exit 50 http 503 retry Now,
        "The store could not be read or written.";
    StoreCorrupt "store_corrupt" exit 50 http 500 retry Never,
        "The file is damaged, or is not an inbox store.";
    StoreNewer "store_newer" exit 50 http 500 retry Never,
        "The store was written by a newer version of inbox.";
    StoreMoving "store_moving" exit 50 http 503 retry Later,
        "The store is a copy that is not finished.";
    PromiseBroken "promise_broken" exit 50 http 500 retry Never,
        "Under torture a promise of inbox did not hold on this machine.";
    Internal "internal" exit 50 http 500 retry Never,
        "A fault in inbox itself.";
}

impl Code {
    /// The code with this name.
    pub fn named(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name() == name)
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Code {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Code::named(&name).ok_or_else(|| serde::de::Error::custom(format!("unknown code {name}")))
    }
}

/// Separates code, message and hint where only one text can be carried.
const CARRIER: char = '\u{1f}';

/// A refused request: what happened, what to do next, and a stable code.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// What programs match on.
    pub code: Code,
    /// What happened, with the value, in lower case.
    pub message: String,
    /// What to do next, where there is something to do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub hint: String,
    /// Stable values for programs.
    #[serde(default, skip_serializing_if = "no_details")]
    pub details: Box<Map<String, Value>>,
}

#[expect(clippy::borrowed_box, reason = "serde hands over the field as it is")]
fn no_details(details: &Box<Map<String, Value>>) -> bool {
    details.is_empty()
}

impl Refusal {
    /// A refusal without hint and details.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Refusal {
            code,
            message: said(message.into()),
            hint: String::new(),
            details: Box::default(),
        }
    }

    /// Bad input.
    pub fn input(message: impl Into<String>) -> Self {
        Refusal::new(Code::InvalidInput, message)
    }

    /// The refusal as one text, for frameworks that carry nothing else; [`Refusal::from_carried`] reads it.
    pub fn carried(&self) -> String {
        format!(
            "{}{CARRIER}{}{CARRIER}{}",
            self.code, self.message, self.hint
        )
    }

    /// A refusal as a framework carried it, or bad input as it said it itself.
    pub fn from_carried(text: &str) -> Self {
        let mut parts = text.splitn(3, CARRIER);
        match (parts.next().and_then(Code::named), parts.next()) {
            (Some(code), Some(message)) => {
                Refusal::new(code, message).hint(parts.next().unwrap_or_default())
            }
            _ => Refusal::input(text),
        }
    }

    /// Says what to do next.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = said(hint.into());
        self
    }

    /// Adds a value that programs may rely on.
    pub fn detail(mut self, key: &str, value: impl Into<Value>) -> Self {
        let value = match value.into() {
            Value::String(text) => Value::String(said(text)),
            value => value,
        };
        self.details.insert(key.to_owned(), value);
        self
    }
}

/// What was given may be a secret in a wrong place, and refusals go to logs and to agents.
fn said(text: String) -> String {
    match unsaid(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(text) => text,
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn a_refusal_survives_being_carried_as_one_text() {
        for refusal in [
            Refusal::new(Code::TooLarge, "too much").hint("say less"),
            Refusal::input("no hint"),
        ] {
            assert_eq!(Refusal::from_carried(&refusal.carried()), refusal);
        }
        assert_eq!(
            Refusal::from_carried("anything else").code,
            Code::InvalidInput
        );
    }

    #[test]
    fn a_refusal_is_an_object_of_what_it_has_and_reads_back() {
        let plain = Refusal::input("no");
        let text = serde_json::to_string(&plain).unwrap();
        assert_eq!(text, r#"{"code":"invalid_input","message":"no"}"#);
        assert_eq!(serde_json::from_str::<Refusal>(&text).unwrap(), plain);
        let full = plain.hint("say yes").detail("said", "no");
        let text = serde_json::to_string(&full).unwrap();
        assert_eq!(
            text,
            r#"{"code":"invalid_input","message":"no","hint":"say yes","details":{"said":"no"}}"#
        );
        assert_eq!(serde_json::from_str::<Refusal>(&text).unwrap(), full);
        assert_eq!(full.to_string(), "no");
        let unknown = r#"{"code":"unheard_of","message":"no"}"#;
        assert!(serde_json::from_str::<Refusal>(unknown).is_err());
    }

    #[test]
    fn every_code_has_a_name_of_its_own_and_an_exit_status_of_the_contract() {
        let names: HashSet<_> = Code::ALL.iter().map(|code| code.name()).collect();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            assert!([20, 30, 40, 50].contains(&code.exit()), "{code}");
            assert!((400..=599).contains(&code.http()), "{code}");
            assert_eq!(Code::named(code.name()), Some(*code));
            assert!(code.meaning().ends_with('.'), "{code}");
        }
    }
}
