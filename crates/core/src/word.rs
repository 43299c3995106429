//! The closed vocabularies: each word has a name for people and programs and a number for the store.

macro_rules! words {
    ($(#[$doc:meta])* $name:ident $noun:literal { $($(#[$variant_doc:meta])* $variant:ident = $code:literal $word:literal,)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$variant_doc])* $variant,)* }

        impl $name {
            /// Every word, in the order of its number.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The word.
            pub const fn name(self) -> &'static str { match self { $($name::$variant => $word,)* } }

            /// The number in the store. Do not change: it is on disk.
            pub const fn code(self) -> i64 { match self { $($name::$variant => $code,)* } }

            /// The word with this number.
            pub const fn from_code(code: i64) -> Option<Self> {
                match code { $($code => Some($name::$variant),)* _ => None }
            }

            /// The word's bit in a set of words.
            pub const fn bit(self) -> i64 { 1 << self.code() }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::error::Refusal;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                $name::ALL
                    .iter()
                    .copied()
                    .find(|word| word.name().eq_ignore_ascii_case(text))
                    .ok_or_else(|| {
                        let shown = $crate::text::quoted(text);
                        $crate::error::Refusal::input(format!(concat!("unknown ", $noun, " {}"), shown))
                            .hint(format!("use one of {}", [$($word,)*].join(", ")))
                    })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                $crate::word::parse_or_number(&text, $name::NUMBERED)
                    .map_err(|refusal| serde::de::Error::custom(refusal.carried()))
            }
        }

        impl $crate::word::Word for $name {
            fn numbered(number: i64) -> Option<Self> { Self::from_code(number) }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool { true }
            fn schema_name() -> std::borrow::Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($word,)*] })
            }
        }
    };
}
pub(crate) use words;

/// A vocabulary whose words may have public numbers.
pub(crate) trait Word: std::str::FromStr<Err = crate::error::Refusal> {
    /// The word with this public number.
    fn numbered(number: i64) -> Option<Self>;
}

pub(crate) fn parse_or_number<W: Word>(
    text: &str,
    numbered: bool,
) -> Result<W, crate::error::Refusal> {
    if numbered && let Some(word) = text.parse().ok().and_then(W::numbered) {
        return Ok(word);
    }
    text.parse()
}

macro_rules! not_numbered {
    ($($name:ident)*) => {$( impl $name { pub(crate) const NUMBERED: bool = false; } )*};
}
not_numbered! { Status Kind EventType Auth AgentKind RefType SessionState Step Door Scope }
impl crate::address::Mode {
    pub(crate) const NUMBERED: bool = false;
}
impl Priority {
    /// Priorities are taken by name and by number.
    pub(crate) const NUMBERED: bool = true;
}

words! {
    /// Where a thread stands.
    Status "status" {
        /// Nobody has claimed it.
        Pending = 1 "pending",
        /// A worker holds it and has not said that it started.
        Claimed = 2 "claimed",
        /// The holder works on it.
        InProgress = 3 "in_progress",
        /// The holder waits for an answer.
        Blocked = 4 "blocked",
        /// Finished with a result. Final.
        Done = 5 "done",
        /// Given up with a reason. Final.
        Failed = 6 "failed",
        /// Called off. Final.
        Cancelled = 7 "cancelled",
    }
}

impl Status {
    /// Whether nothing can follow.
    pub const fn is_final(self) -> bool {
        matches!(self, Status::Done | Status::Failed | Status::Cancelled)
    }

    /// Whether somebody holds, or last held, the open thread.
    pub const fn is_held(self) -> bool {
        matches!(self, Status::Claimed | Status::InProgress | Status::Blocked)
    }
}

words! {
    /// What a message is.
    Kind "kind" {
        /// Work to be done; a thread opened by it is work.
        Task = 1 "task",
        /// How far the work is.
        Progress = 2 "progress",
        /// What the sender needs to know.
        Question = 3 "question",
        /// The answer to a question.
        Answer = 4 "answer",
        /// The outcome of the work.
        Result = 5 "result",
        /// An instruction about the thread itself, such as a cancellation.
        Control = 6 "control",
        /// Anything else worth telling.
        Event = 7 "event",
    }
}

words! {
    /// How urgent something is.
    Priority "priority" {
        /// Now.
        Urgent = 1 "urgent",
        /// Before other work.
        High = 2 "high",
        /// In its turn.
        Normal = 3 "normal",
        /// When there is time.
        Low = 4 "low",
        /// For information only.
        Fyi = 5 "fyi",
    }
}

words! {
    /// What happened to a thread.
    EventType "event type" {
        /// It was opened.
        Created = 1 "created",
        /// A message was added.
        Message = 2 "message",
        /// A worker took it.
        Claimed = 3 "claimed",
        /// The holder extended its lease.
        Renewed = 4 "renewed",
        /// The holder gave it back.
        Released = 5 "released",
        /// The holder reported progress.
        InProgress = 6 "in_progress",
        /// The holder asked a question and waits.
        Blocked = 7 "blocked",
        /// The holder finished it.
        Done = 8 "done",
        /// The holder gave up.
        Failed = 9 "failed",
        /// It was called off.
        Cancelled = 10 "cancelled",
        /// A message of it was acknowledged.
        Acked = 11 "acked",
        /// A message that reached nobody was given another address.
        Readdressed = 12 "readdressed",
        /// The ledger has a message of it, which is delivered now if it was not before.
        Confirmed = 13 "confirmed",
    }
}

words! {
    /// How the sender of a message was established.
    Auth "auth" {
        /// The local command line: a sender is what it says.
        Local = 1 "local",
        /// A secret: a server's token, or a person's passphrase.
        Token = 2 "token",
        /// The account that paid for a ledger message.
        Ledger = 3 "ledger",
    }
}

words! {
    /// What an agent is.
    AgentKind "agent kind" {
        /// A program.
        Agent = 1 "agent",
        /// A person.
        Human = 2 "human",
        /// inbox itself.
        System = 3 "system",
    }
}

words! {
    /// What a session is.
    SessionState "session state" {
        /// It runs.
        Alive = 1 "alive",
        /// It is put aside and may be resumed; its mail waits and does not age.
        Frozen = 2 "frozen",
        /// It has ended, or has not been seen for long.
        Dead = 3 "dead",
    }
}

words! {
    /// How far a message has come towards one whom it reaches.
    Step "step" {
        /// A door of the reader's client was told of it.
        Offered = 1 "offered",
        /// It was put before the reader.
        Shown = 2 "shown",
        /// The reader took it.
        Read = 3 "read",
        /// The reader has handled it.
        Acked = 4 "acked",
    }
}

words! {
    /// The door of a client by which a session was told of mail.
    Door "door" {
        /// The monitor that Claude Code runs beside a session.
        Monitor = 1 "monitor",
        /// A hook of Claude Code that ends when mail comes.
        AsyncRewake = 2 "async_rewake",
        /// Codex's queue of messages for a session.
        CodexQueue = 3 "codex_queue",
        /// The plugin in opencode.
        OpencodePlugin = 4 "opencode_plugin",
        /// The hook at a session's start.
        HookStart = 5 "hook_start",
        /// The hook with a prompt: the session's next turn.
        HookPrompt = 6 "hook_prompt",
        /// The hook after a tool.
        HookTool = 7 "hook_tool",
        /// The hook at a turn's end.
        HookStop = 8 "hook_stop",
        /// The hook before a summary.
        HookCompact = 9 "hook_compact",
    }
}

words! {
    /// What a token allows.
    Scope "scope" {
        /// To read, wait and search.
        Read = 1 "read",
        /// To write as its agent.
        Write = 2 "write",
        /// To act on threads that are not its agent's own.
        Override = 3 "override",
        /// To change the roster and the store as a whole, and to make tokens.
        Admin = 4 "admin",
    }
}

words! {
    /// What sort of entity a thread is about.
    RefType "entity type" {
        /// A task.
        Task = 1 "task",
        /// A phase.
        Phase = 2 "phase",
        /// A stage.
        Stage = 3 "stage",
        /// A project.
        Project = 4 "project",
        /// An agent.
        Agent = 5 "agent",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_taken_by_name_and_by_number_and_given_by_name() {
        let read = |text: &str| serde_json::from_value::<Priority>(text.into()).ok();
        assert_eq!(read("high"), Some(Priority::High));
        assert_eq!(read("2"), Some(Priority::High));
        assert_eq!(read("6"), None);
        assert_eq!(serde_json::to_value(Priority::Fyi).unwrap(), "fyi");
    }

    #[test]
    fn a_status_has_no_public_number() {
        assert!(serde_json::from_value::<Status>("1".into()).is_err());
    }

    #[test]
    fn a_thread_is_over_or_held_or_neither() {
        let over = [Status::Done, Status::Failed, Status::Cancelled];
        let held = [Status::Claimed, Status::InProgress, Status::Blocked];
        for status in Status::ALL {
            assert_eq!(status.is_final(), over.contains(status), "{status}");
            assert_eq!(status.is_held(), held.contains(status), "{status}");
        }
    }

    #[test]
    fn an_unknown_word_is_refused_with_the_known_ones() {
        let refusal = "urgentt".parse::<Priority>().unwrap_err();
        assert!(refusal.message.contains("urgentt") && refusal.hint.contains("urgent, high"));
    }
}
