//! What is kept, in the shape that programs get: the JSON contract's objects.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::address::Address;
use crate::id::{ArtifactId, EventId, LeaseToken, MessageId, ThreadId};
use crate::name::{AgentName, SessionId};
use crate::word::{Auth, EventType, Kind, Priority, RefType, Status};

/// The durable container of one piece of work or one conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// Its id.
    pub thread_id: ThreadId,
    /// The run that a scheduler put it in, or `""`.
    pub run_id: String,
    /// The task that a scheduler gave it, or `""`.
    pub task_id: String,
    /// What it is about, in one line.
    pub subject: String,
    /// Who opened it.
    pub created_by: AgentName,
    /// The holder from claim until release, and after done or failed; otherwise the first address.
    pub assigned_to: String,
    /// Every address that it was sent to.
    #[serde(deserialize_with = "crate::address::written")]
    pub to: Vec<Address>,
    /// Where it stands.
    pub status: Status,
    /// How urgent it is.
    pub priority: Priority,
    /// How often it was claimed.
    pub attempts: i64,
    /// Its newest message.
    pub latest_message_id: Option<MessageId>,
    /// What sort of entity it is about.
    pub ref_type: Option<RefType>,
    /// Which entity it is about.
    pub ref_id: Option<String>,
    /// When it was opened.
    pub created_at: Millis,
    /// When something last happened to it.
    pub updated_at: Millis,
}

/// One entry in a thread. Never edited, never deleted.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Message {
    /// Its id in this store.
    pub message_id: MessageId,
    /// Its id everywhere: a UUID.
    pub uid: String,
    /// The thread that it belongs to.
    pub thread_id: ThreadId,
    /// Who sent it.
    pub from_agent: AgentName,
    /// The session that sent it, where known.
    pub from_session: Option<SessionId>,
    /// The first address.
    pub to_agent: String,
    /// Every address.
    #[serde(deserialize_with = "crate::address::written")]
    pub to: Vec<Address>,
    /// What it is.
    pub kind: Kind,
    /// An open, dotted word such as `review.request`.
    pub message_type: Option<String>,
    /// One line.
    pub summary: String,
    /// The text.
    pub body: String,
    /// Structured content.
    pub payload_json: Value,
    /// Structured context beside the payload.
    pub context: Value,
    /// The message that it follows from.
    pub parent_message_id: Option<MessageId>,
    /// How many messages of agents it follows from, one from the other, since a person spoke.
    #[serde(default)]
    pub hops: i64,
    /// How urgent it is: the thread's priority, unless it has its own.
    #[serde(default = "normal")]
    pub priority: Priority,
    /// When it stops being offered.
    pub expires_at: Option<Millis>,
    /// Whether the sender is proven.
    pub verified: bool,
    /// How the sender was established.
    pub auth: Auth,
    /// When it was sent.
    pub created_at: Millis,
}

fn normal() -> Priority {
    Priority::Normal
}

/// An exclusive, expiring claim on a thread.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lease {
    /// The thread that is held.
    pub thread_id: ThreadId,
    /// Who holds it.
    pub agent_id: AgentName,
    /// The proof of the claim; only its taker is ever told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_token: Option<LeaseToken>,
    /// Which claim of the thread this is; a later one has a greater number.
    pub epoch: i64,
    /// When it was claimed.
    pub claimed_at: Millis,
    /// When it ends unless it is renewed.
    pub expires_at: Millis,
}

/// A path or file reference attached to a message.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Artifact {
    /// Its id.
    pub artifact_id: ArtifactId,
    /// The message that it is attached to.
    pub message_id: MessageId,
    /// The path as it was given.
    pub path: String,
    /// `file`, or `reference` when there was no readable regular file.
    pub kind: String,
    /// What was found when it was attached.
    pub metadata_json: ArtifactMetadata,
    /// When it was attached.
    pub created_at: Millis,
}

/// What was found at an artifact's path when it was attached.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactMetadata {
    /// Its size in bytes.
    pub size: Option<i64>,
    /// The SHA-256 of its content, in hexadecimal.
    pub sha256: Option<String>,
    /// Its media type, by the file's name.
    pub media_type: Option<String>,
}

/// One entry in the store's single ordered log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its number; later events have greater ones.
    pub event_id: EventId,
    /// The thread's run, or `""`.
    pub run_id: String,
    /// The thread's task, or `""`.
    pub task_id: String,
    /// The thread that it happened to.
    pub thread_id: ThreadId,
    /// Who did it.
    pub source: AgentName,
    /// What happened.
    pub event_type: EventType,
    /// The message that was written with it.
    pub message_id: Option<MessageId>,
    /// The message's summary, or `""`.
    pub summary: String,
    /// The status that it left, and what belongs to its type.
    pub payload_json: Value,
    /// When it happened.
    pub created_at: Millis,
}

/// A point in time in whole milliseconds, which is what stores keep. RFC 3339 in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Millis(pub i64);

impl Millis {
    /// The time as a timestamp; out-of-range values are held at the ends of the calendar.
    pub fn timestamp(self) -> Timestamp {
        Timestamp::from_millisecond(self.0).unwrap_or(if self.0 < 0 {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        })
    }
}

impl From<Timestamp> for Millis {
    fn from(time: Timestamp) -> Self {
        Millis(time.as_millisecond())
    }
}

impl std::fmt::Display for Millis {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3}", self.timestamp())
    }
}

impl std::str::FromStr for Millis {
    type Err = crate::error::Refusal;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse::<Timestamp>().map(Millis::from).map_err(|_| {
            let shown = crate::text::quoted(text);
            crate::error::Refusal::input(format!("{shown} is not an RFC 3339 time"))
        })
    }
}

crate::id::text_serde!(Millis, "An RFC 3339 time.");

/// The UUID of a message: version 7, made of its time and of random bits.
pub fn message_uid(created_at: Millis, entry: i64, random: i64) -> String {
    let time = created_at.0.cast_unsigned() & 0xffff_ffff_ffff;
    let random = random.cast_unsigned();
    // Twelve bits: two random ones, and ten that tell apart what one millisecond wrote.
    let middle = ((random >> 62) << 10) | (entry.cast_unsigned() & 0x3ff);
    let tail = random & 0x3fff_ffff_ffff_ffff;
    format!(
        "{:08x}-{:04x}-7{:03x}-{:04x}-{:012x}",
        time >> 16,
        time & 0xffff,
        middle & 0xfff,
        0x8000 | (tail >> 48),
        tail & 0xffff_ffff_ffff
    )
}

/// What a UUID of a message was made of: the time, the last ten bits of its key, and the random bits. Nothing
/// for a UUID that was not made here.
pub fn uid_parts(uid: &str) -> Option<(Millis, i64, i64)> {
    let hex: String = uid.split('-').collect();
    let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    if hex.len() != 32 || !is_hex || &hex[12..13] != "7" {
        return None;
    }
    let part = |range: std::ops::Range<usize>| u64::from_str_radix(&hex[range], 16).ok();
    let (time, middle) = (part(0..12)?, part(13..16)?);
    let tail = part(16..32)? & 0x3fff_ffff_ffff_ffff;
    let random = ((middle >> 10) << 62) | tail;
    Some((
        Millis(time.cast_signed()),
        (middle & 0x3ff).cast_signed(),
        random.cast_signed(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_three_decimals_and_read_back() {
        let time = Millis(1_763_194_260_120);
        assert_eq!(time.to_string(), "2025-11-15T08:11:00.120Z");
        assert_eq!(time.to_string().parse::<Millis>().unwrap(), time);
    }

    #[test]
    fn a_time_past_the_calendar_is_held_at_its_end() {
        assert_eq!(Millis(i64::MAX).timestamp(), Timestamp::MAX);
        assert_eq!(Millis(i64::MIN).timestamp(), Timestamp::MIN);
        assert_eq!(Millis(0).timestamp(), Timestamp::UNIX_EPOCH);
        assert!("yesterday".parse::<Millis>().is_err());
    }

    #[test]
    fn a_message_uid_tells_what_it_was_made_of() {
        for random in [0, -1, 1, i64::MIN, i64::MAX, 0x1234_5678_9abc_def0] {
            let uid = message_uid(Millis(1_763_194_260_120), 0x1388, random);
            let parts = uid_parts(&uid).unwrap();
            assert_eq!(parts, (Millis(1_763_194_260_120), 0x388, random));
        }
        for other in [
            "",
            "x",
            "01a1e48c-6cb2-7029-9390-447f9972ebd",
            "01a1e48c-6cb2-8029-9390-447f9972ebd3",
            "5e8fd7d8-3c3e-4b5e-9f1a-000000000000",
            "+1a1e48c-6cb2-7029-9390-447f9972ebd3",
            "ä",
        ] {
            assert_eq!(uid_parts(other), None);
        }
    }

    #[test]
    fn a_message_uid_is_a_uuid_of_version_7() {
        let uid = message_uid(Millis(1_763_194_260_120), 41, -1);
        assert_eq!(uid.len(), 36);
        assert_eq!(&uid[14..15], "7");
        assert!("89ab".contains(&uid[19..20]), "{uid}");
        assert_ne!(uid, message_uid(Millis(1_763_194_260_120), 42, -1));
        // Times past 48 bits lose what is above.
        let uid = message_uid(
            Millis((1 << 48) + 0x0001_0203_0405),
            0x7ff,
            0x4002_0000_0000_0003,
        );
        assert_eq!(uid, "00010203-0405-77ff-8002-000000000003");
    }
}
