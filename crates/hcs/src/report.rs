//! What a reader says of others' writing: the deviations that it forgave, and why it refused.

use std::borrow::Cow;

use inbox_wire::Problem;

use crate::id::shown;

/// One fault that was forgiven: what stands there, and what the standard wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deviation {
    /// Which fault it is.
    pub kind: DeviationKind,
    /// Where: a JSON pointer, `""` for the whole text.
    pub pointer: String,
    /// What the standard wants there.
    pub expected: String,
    /// What stands there, shortened and made harmless.
    pub found: String,
}

impl std::fmt::Display for Deviation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let place = if self.pointer.is_empty() {
            "the text"
        } else {
            &self.pointer
        };
        write!(
            f,
            "{}: {place}: expected {}, found {}",
            self.kind.name(),
            self.expected,
            self.found
        )
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident $word:literal,)*) => {
        /// The faults that are forgiven.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum DeviationKind { $($(#[$doc])* $variant,)* }

        impl DeviationKind {
            /// Every kind.
            pub const ALL: &'static [DeviationKind] = &[$(DeviationKind::$variant,)*];

            /// Its name, for reports.
            pub const fn name(self) -> &'static str {
                match self { $(DeviationKind::$variant => $word,)* }
            }
        }
    };
}

kinds! {
    /// A field that the standard does not have, such as `inbound_topic_id` in a registration.
    UnknownField "unknown_field",
    /// A field that the standard requires is not there.
    MissingField "missing_field",
    /// A field that may be left out is null.
    NullField "null_field",
    /// A field that is read for people alone has the wrong sort of value, and was left out.
    IgnoredField "ignored_field",
    /// A number is written as text.
    NumberAsText "number_as_text",
    /// A text is written as a number, such as `uid`.
    TextAsNumber "text_as_number",
    /// `data` is an object or another value, and not text that holds it.
    DataIsNotText "data_is_not_text",
    /// A text is longer than the standard allows.
    TooLong "too_long",
    /// The message was larger than one message of the network, and came in pieces.
    Assembled "assembled",
    /// An operation that belongs on another sort of topic.
    Misplaced "misplaced",
    /// The memo's `indexed` is not that of its type.
    WrongIndexed "wrong_indexed",
    /// A colon at the end of a memo.
    TrailingColon "trailing_colon",
    /// An account memo that names a topic without a protocol, as an older text did.
    BareTopic "bare_topic",
    /// A memo that leaves out its time to live.
    MissingTtl "missing_ttl",
    /// A transaction memo that does not fit its operation and topic.
    OtherTransactionMemo "other_transaction_memo",
    /// A number that the standard gives no meaning.
    UnknownNumber "unknown_number",
    /// A word that is not in the standard's list.
    UnknownWord "unknown_word",
    /// A record of a connection names the requester where the agent that confirmed belongs.
    OperatorIsRequester "operator_is_requester",
    /// A record names another outbound topic than that of the agent it speaks of.
    OtherOutboundTopic "other_outbound_topic",
    /// A message on a file's topic that is no chunk.
    NoChunk "no_chunk",
    /// A chunk that is there twice; the first counts.
    DuplicateChunk "duplicate_chunk",
    /// A file without its `data:` prefix.
    MissingPrefix "missing_prefix",
    /// The profile's text says one type, and carries the part of another.
    OtherPart "other_part",
    /// Fields of a group stand inside an object of their own, and not in the profile itself.
    NestedPart "nested_part",
}

/// Why a text was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// A text that is no such thing at all.
    #[error("{found} is not {expected}")]
    Text {
        /// What stands there.
        found: Found,
        /// What it should be.
        expected: Cow<'static, str>,
    },
    /// More bytes than may be.
    #[error("{what} has {bytes} bytes; the most is {most}")]
    TooLarge {
        /// What is too large.
        what: &'static str,
        /// How large it is, or how far it was read.
        bytes: usize,
        /// The most.
        most: usize,
    },
    /// Bytes that are no UTF-8 text.
    #[error("the bytes are not UTF-8 text")]
    NotText,
    /// Text that is no JSON, or JSON that two readers could understand in two ways.
    #[error("not JSON: {0}")]
    NotJson(Problem),
    /// Another protocol, or none.
    #[error("the protocol is {found}, not \"{expected}\"")]
    OtherProtocol {
        /// What `p` is.
        found: String,
        /// What was expected.
        expected: &'static str,
    },
    /// An operation that nobody knows.
    #[error("the operation {0} is unknown")]
    UnknownOperation(String),
    /// An operation that has no meaning on this topic.
    #[error("{operation} does not belong on {place} topics")]
    NotHere {
        /// The operation.
        operation: String,
        /// The sort of topic.
        place: &'static str,
    },
    /// Fields that cannot be read.
    #[error("{}", list(.0))]
    Fields(Vec<Problem>),
    /// A form that cannot be written, because a field is missing.
    #[error("{0} is missing, and must be there in what is written")]
    Incomplete(&'static str),
    /// A file's chunk whose index is out of range.
    #[error("chunk {index} is out of range; the most chunks are {most}")]
    ChunkOutOfRange {
        /// The index.
        index: u64,
        /// The most chunks.
        most: u32,
    },
    /// A piece of a message that does not belong to the others.
    #[error("the piece does not fit: {0}")]
    Piece(&'static str),
    /// A file that lacks chunks.
    #[error("{count} chunks are missing, the first is {first}")]
    MissingChunks {
        /// The first that is missing.
        first: u32,
        /// How many.
        count: u32,
    },
    /// A file that grows too much when it is decompressed.
    #[error("the file grows to more than {most} bytes when it is decompressed")]
    Bomb {
        /// The most that it may be.
        most: usize,
    },
    /// A file that cannot be decoded.
    #[error("the file cannot be decoded: {0}")]
    Corrupt(&'static str),
    /// A file whose content is not what its topic's memo names.
    #[error("the file's hash is {found}, and its topic's memo says {expected}")]
    HashMismatch {
        /// The hash in the memo.
        expected: String,
        /// The hash of the content.
        found: String,
    },
    /// A file on a topic whose keys would let it change.
    #[error("the file's topic {0}")]
    Keys(&'static str),
    /// Registries that move on and on.
    #[error("the registry moved more than {most} times, or back to where it was")]
    Migrations {
        /// The most moves.
        most: usize,
    },
}

fn list(problems: &[Problem]) -> String {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("; ")
}

impl Refused {
    pub(crate) fn text(found: &str, expected: impl Into<Cow<'static, str>>) -> Self {
        Refused::Text {
            found: Found::new(found),
            expected: expected.into(),
        }
    }
}

/// The beginning of a text that was refused. It is quoted when it is shown, and not before: most refusals of a text are
/// the answer to a question, and nobody reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    beginning: Box<str>,
    bytes: usize,
}

impl Found {
    fn new(text: &str) -> Self {
        const MOST: usize = 100;
        let end = match text.len() {
            short @ ..=MOST => short,
            long => text.char_indices().nth(MOST).map_or(long, |(at, _)| at),
        };
        Found {
            beginning: text[..end].into(),
            bytes: text.len(),
        }
    }
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&shown(&self.beginning))?;
        if self.beginning.len() < self.bytes {
            write!(f, "… ({} bytes)", self.bytes)?;
        }
        Ok(())
    }
}
