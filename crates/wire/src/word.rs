//! The closed vocabularies of Agent Wire. A word is written exactly so; case matters.

macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($variant:ident $word:literal $about:literal,)* })*) => {$(
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $(#[doc = $about] $variant,)* }

        impl $name {
            /// Every word.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The word.
            pub const fn name(self) -> &'static str { match self { $($name::$variant => $word,)* } }

            /// What it means, in one sentence.
            pub const fn about(self) -> &'static str { match self { $($name::$variant => $about,)* } }
        }

        impl crate::word::Word for $name {
            const WORDS: &'static [&'static str] = &[$($word,)*];
            fn named(text: &str) -> Option<Self> {
                match text { $($word => Some($name::$variant),)* _ => None }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $name {
            type Err = inbox_core::Refusal;
            fn from_str(text: &str) -> Result<Self, Self::Err> {
                <$name as crate::word::Word>::named(text).ok_or_else(|| {
                    inbox_core::Refusal::input(format!("unknown word {text:?}"))
                        .hint(format!("use one of {}", [$($word,)*].join(", ")))
                })
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl schemars::JsonSchema for $name {
            fn inline_schema() -> bool { true }
            fn schema_name() -> std::borrow::Cow<'static, str> { stringify!($name).into() }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({ "type": "string", "enum": [$($word,)*] })
            }
        }
    )*};
}

/// A closed vocabulary.
pub(crate) trait Word: Sized {
    /// Every word, as it is written.
    const WORDS: &'static [&'static str];
    /// The word that is written so.
    fn named(text: &str) -> Option<Self>;
}

words! {
    /// What a Wire is.
    Type {
        Brief "brief" "A task: its goal, its limits, and what its output must be.",
        Inbox "inbox" "A message from one agent to another.",
        Complete "complete" "A task is done, with its output and how it was verified.",
        Blocked "blocked" "A task is stuck, with the reason and the sort of blocker.",
        Claim "claim" "An agent takes a task in a role.",
    }

    /// What a task has to give.
    OutputType {
        File "file" "A file, attached or referred to.",
        Json "json" "A JSON document.",
        Pr "pr" "A pull request or a branch.",
        Message "message" "A text for somebody to read.",
        Report "report" "A longer text or document.",
    }

    /// What the mechanical check found.
    Mechanical {
        Pass "pass" "The output keeps its contract.",
        Fail "fail" "The output breaks its contract.",
    }

    /// What the semantic check found.
    Semantic {
        Pass "pass" "The evaluator was content.",
        Fail "fail" "The evaluator was not content.",
        Skipped "skipped" "There was nothing to evaluate.",
    }

    /// The sort of a blocker, by which it is routed.
    BlockerType {
        SpecGap "spec_gap" "The brief leaves out what is needed.",
        Dependency "dependency" "Other work must come first.",
        ToolFailure "tool_failure" "A tool or the environment failed.",
        Ambiguity "ambiguity" "The brief can be read in more than one way.",
        Resource "resource" "Something that is needed is missing or used up.",
        VerificationFail "verification_fail" "The output did not pass its checks.",
    }

    /// How an agent escalates.
    Via {
        TaskBlocked "task.blocked" "Block the task.",
        Inbox "inbox" "Send a message.",
        ExecGate "exec.gate" "Ask for an approval.",
    }
}
