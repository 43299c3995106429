//! Messages from elsewhere and for elsewhere: mailbox files, other programs' inboxes, graphs.
//!
//! Pure conversion. The surface reads the files, a decoder here makes a [`Batch`] of them, and the
//! `import` operation writes it. Decoding the same source twice gives the same uids, so importing it
//! twice adds nothing. What cannot be taken is named in the [`Batch`], and the rest goes on.

pub mod agent_mail;
pub mod claude_teams;
mod convert;
pub mod graph;
pub mod hcom;
mod json;
pub mod mailbox;
mod names;
#[cfg(test)]
mod properties;

use inbox_core::record::Millis;
use inbox_core::{Kind, Priority};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use convert::{own_uid, uid};
pub use inbox_store::foreign::Tables;

/// A message that comes from elsewhere.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Incoming {
    /// Where it was found, for reports: a line, a row, an entry of a file.
    pub place: String,
    /// Its UUID: the source's own, or one that follows from what identifies it there.
    pub uid: String,
    /// Who sent it, as a name of ours.
    pub from: String,
    /// The session that sent it, where known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_session: Option<String>,
    /// Who it is for: addresses in our notation.
    pub to: Vec<String>,
    /// When it was sent.
    pub created_at: Millis,
    /// What it is about, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The text.
    pub body: String,
    /// Structured content; what has no place of its own is under a key named after the source.
    #[serde(default = "convert::empty")]
    pub payload: Value,
    /// Messages of equal key belong to one thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thread_key: Option<String>,
    /// The message that it follows from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_uid: Option<String>,
    /// What it is, where the source says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<Kind>,
    /// An open, dotted word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message_type: Option<String>,
    /// How urgent it is, where the source says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    /// After how many hours it stops being offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_hours: Option<i64>,
    /// Who has read it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<Seen>,
    /// Who has acknowledged it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub acks: Vec<Seen>,
}

/// That somebody has read or acknowledged a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// Who, as a name of ours.
    pub reader: String,
    /// When; the message's own time where the source does not say.
    pub at: Millis,
}

/// That somebody has read a message which may not be in the batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LooseRead {
    /// The message's UUID.
    pub message_uid: String,
    /// Who, as a name of ours.
    pub reader: String,
    /// When.
    pub at: Millis,
}

/// What could not be taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bad {
    /// Where it was found.
    pub place: String,
    /// What is wrong with it.
    pub problem: String,
}

/// The longest problem, in characters.
const PROBLEM: usize = 300;

/// What a source holds, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Batch {
    /// The messages.
    #[serde(default)]
    pub messages: Vec<Incoming>,
    /// Reads that stand alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<LooseRead>,
    /// What could not be taken.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bad: Vec<Bad>,
}

impl Batch {
    fn refuse(&mut self, place: impl Into<String>, problem: impl Into<String>) {
        let mut problem = problem.into();
        // It may quote what was found, and that may be long.
        if let Some((end, _)) = problem.char_indices().nth(PROBLEM) {
            problem.truncate(end);
            problem.push('…');
        }
        let place = place.into();
        self.bad.push(Bad { place, problem });
    }

    /// Takes a message, unless it breaks what every message must keep to.
    fn take(&mut self, message: Incoming) {
        match convert::fault(&message) {
            None => self.messages.push(message),
            Some(problem) => self.refuse(message.place, problem),
        }
    }
}

/// A form that messages come in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Source {
    /// Spec 004's `agent-mailbox.jsonl`, which `export` also writes.
    Mailbox,
    /// Spec 004's `agent-mailbox-reads.jsonl`.
    MailboxReads,
    /// hcom's database.
    Hcom,
    /// MCP Agent Mail's database.
    AgentMail,
    /// The inbox files of Claude Code's teams.
    ClaudeTeams,
}

impl Source {
    /// The source's name, which is also its key in payloads.
    pub const fn name(self) -> &'static str {
        match self {
            Source::Mailbox | Source::MailboxReads => mailbox::SOURCE,
            Source::Hcom => hcom::SOURCE,
            Source::AgentMail => agent_mail::SOURCE,
            Source::ClaudeTeams => claude_teams::SOURCE,
        }
    }

    /// The tables that its decoder reads; none for a text.
    pub const fn tables(self) -> &'static [&'static str] {
        match self {
            Source::Hcom => hcom::TABLES,
            Source::AgentMail => agent_mail::TABLES,
            Source::Mailbox | Source::MailboxReads | Source::ClaudeTeams => &[],
        }
    }

    /// Whose database has these tables.
    pub fn of_tables<T: AsRef<str>>(found: &[T]) -> Option<Source> {
        [Source::Hcom, Source::AgentMail]
            .into_iter()
            .find(|source| {
                let has = |table: &&str| found.iter().any(|name| name.as_ref() == *table);
                source.tables().iter().all(has)
            })
    }

    /// What sort of file it is: an array is a team's inbox, an object in a line of its own is a
    /// mailbox's or a reads file's. The first lines decide, and one that cannot be read does not.
    pub fn of_text(bytes: &[u8]) -> Option<Source> {
        let text = bytes.strip_prefix(convert::BOM).unwrap_or(bytes);
        if text.trim_ascii_start().first() == Some(&b'[') {
            return Some(Source::ClaudeTeams);
        }
        text.split(|&byte| byte == b'\n')
            .map(<[u8]>::trim_ascii)
            .filter(|line| !line.is_empty())
            .take(100)
            .filter_map(|line| json::object(line).ok())
            .find_map(|object| {
                if mailbox::MESSAGE_ID
                    .iter()
                    .any(|key| object.contains_key(*key))
                {
                    Some(Source::MailboxReads)
                } else {
                    object.contains_key("id").then_some(Source::Mailbox)
                }
            })
    }
}

/// The batch in the tables of another program's database.
pub fn decode_tables(source: Source, tables: &Tables) -> Batch {
    match source {
        Source::Hcom => hcom::decode(tables),
        Source::AgentMail => agent_mail::decode(tables),
        Source::Mailbox | Source::MailboxReads | Source::ClaudeTeams => Batch::default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_known_by_its_tables_or_its_first_bytes() {
        assert_eq!(
            Source::of_tables(&["kv", "instances", "events"]),
            Some(Source::Hcom)
        );
        assert_eq!(
            Source::of_tables(&["agents", "messages", "message_recipients", "projects"]),
            Some(Source::AgentMail)
        );
        assert_eq!(Source::of_tables(&["messages"]), None);
        for (text, source) in [
            ("[]", Some(Source::ClaudeTeams)),
            ("\u{feff}\r\n  [{", Some(Source::ClaudeTeams)),
            ("{\"id\":\"x\"}\n", Some(Source::Mailbox)),
            ("{\"id\":\n{}\n{\"id\":1}", Some(Source::Mailbox)),
            ("\n{\"message_id\":\"x\"}", Some(Source::MailboxReads)),
            ("{\"messageid\":\"x\"}", Some(Source::MailboxReads)),
            ("{}", None),
            ("", None),
            ("id,sender", None),
        ] {
            assert_eq!(Source::of_text(text.as_bytes()), source, "{text:?}");
        }
    }

    #[test]
    fn a_batch_is_a_request_value() {
        let batch: Batch = serde_json::from_str(
            r#"{"messages":[{"place":"line 1","uid":"u","from":"a","to":["b"],"created_at":"2026-01-01T00:00:00Z","body":"x"}]}"#,
        )
        .unwrap();
        assert_eq!(batch.messages[0].payload, serde_json::json!({}));
        let again = serde_json::to_string(&batch).unwrap();
        assert_eq!(serde_json::from_str::<Batch>(&again).unwrap(), batch);
        assert!(serde_json::from_str::<Batch>(r#"{"mesages":[]}"#).is_err());
        assert!(schemars::schema_for!(Batch).get("properties").is_some());
    }
}
