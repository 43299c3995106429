//! `search`: messages by their words.

use inbox_core::record::Millis;
use inbox_core::{
    Address, AgentName, EventId, Kind, Label, Message, Priority, Refusal, Status, ThreadId, limit,
};
use inbox_store::{Query, SearchFilter};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation};
use crate::claim::labels;
use crate::page::{Block, Cell, Page};

/// How many messages `search` gives unless told otherwise.
const USUAL: i64 = 20;

/// Search the messages, newest first
///
/// In their subjects, summaries, bodies and payloads. Every word must be there; "words in quotes" follow
/// each other, begin* is the beginning of a word, and -not must not be there. Case and accents make no
/// difference.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Search {
    /// Search for these words
    pub query: String,
    /// Search messages from or to this agent
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentName>,
    /// Search messages to this address
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// Search messages of these kinds, separated by commas
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kind: Vec<Kind>,
    /// Search in threads with these statuses, separated by commas
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub status: Vec<Status>,
    /// Search in threads with this run
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Label>,
    /// Search in threads with this task
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Label>,
    /// Search messages sent since then: an RFC 3339 time, or how long ago, such as 2d or 3h
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<When>,
    /// Search messages sent before then, written in the same way
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<When>,
    /// Give at most so many; 20 unless told otherwise
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<i64>,
    /// Give the best matches first
    #[serde(default)]
    pub rank: bool,
}

/// A time, or how long ago it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// A time.
    At(Millis),
    /// So many milliseconds ago.
    Ago(i64),
}

impl When {
    /// The time, as seen from `now`.
    pub fn at(self, now: Millis) -> Millis {
        match self {
            When::At(time) => time,
            When::Ago(millis) => Millis(now.0.saturating_sub(millis)),
        }
    }
}

impl std::str::FromStr for When {
    type Err = Refusal;
    fn from_str(text: &str) -> Result<Self, Refusal> {
        let unit = match text.chars().last() {
            Some('s') => 1_000,
            Some('m') => 60_000,
            Some('h') => 3_600_000,
            Some('d') => 86_400_000,
            Some('w') => 7 * 86_400_000,
            _ => 0,
        };
        let number = text.get(..text.len().saturating_sub(1)).unwrap_or_default();
        if unit > 0
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && let Ok(number) = number.parse::<i64>()
        {
            return Ok(When::Ago(number.saturating_mul(unit)));
        }
        text.parse().map(When::At).map_err(|_| {
            Refusal::input(format!("{text:?} is not a time"))
                .hint("write an RFC 3339 time such as 2026-11-15T08:00:00Z, or how long ago: 30m, 3h, 2d, 1w")
        })
    }
}

impl std::fmt::Display for When {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            When::At(time) => time.fmt(f),
            When::Ago(millis) => write!(f, "{}s", millis / 1_000),
        }
    }
}

impl Serialize for When {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for When {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse()
            .map_err(|refusal: Refusal| serde::de::Error::custom(refusal.carried()))
    }
}

impl JsonSchema for When {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "When".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "string",
            "description": "An RFC 3339 time, or how long ago, such as 2d or 3h.",
        })
    }
}

/// The answer of `search`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Searched {
    /// What was found.
    pub hits: Vec<SearchHit>,
    /// Whether there is more.
    pub truncated: bool,
    /// How far the index has come.
    pub indexed: Indexed,
    /// What should be known besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Where to go on.
    pub next_event_id: EventId,
}

/// A message that was found.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct SearchHit {
    /// The message.
    pub message: Message,
    /// The thread that it is in.
    pub thread: ThreadBrief,
    /// The text around the first hit: plain, on one line, at most 160 characters.
    pub snippet: String,
    /// How well it matches, when the best come first; comparable within one answer only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score: Option<f64>,
    /// The archive that it is in, by month, when it is no longer in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub archived: Option<String>,
}

/// A thread in a few words.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ThreadBrief {
    /// Its id.
    pub thread_id: ThreadId,
    /// What it is about.
    pub subject: String,
    /// Where it stands.
    pub status: Status,
    /// How urgent it is.
    pub priority: Priority,
}

/// How far the index has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Indexed {
    /// The last event that it has seen; later messages were read one by one.
    pub through: EventId,
    /// How many messages it holds.
    pub total: i64,
}

impl Operation for Search {
    const NAME: &'static str = "search";
    const EFFECT: Effect = Effect::Read;
    const IDENTITY: Identity = Identity::Ignored;
    type Answer = Searched;

    fn run(&self, inbox: &Inbox, _caller: &Caller) -> Result<Searched, Refusal> {
        inbox.take_in()?;
        let mut warnings = inbox.index_archives()?;
        let most = limit::in_range("--limit", self.limit.unwrap_or(USUAL), 1, limit::PAGE_MAX)?;
        let query = Query::parse(&self.query)?;
        let now = match (self.since, self.until) {
            (None, None) => Millis(0),
            _ => inbox.store().read(|tx| Ok(tx.now()))?,
        };
        let search = inbox_store::Search {
            query,
            filter: SearchFilter {
                agent: self.agent.clone(),
                address: self.address.clone(),
                kind: self.kind.clone(),
                status: self.status.clone(),
                labels: labels(self.run.as_ref(), self.task.as_ref()),
                since: self.since.map(|when| when.at(now)),
                until: self.until.map(|when| when.at(now)),
            },
            limit: usize::try_from(most).unwrap_or(usize::MAX),
            rank: self.rank,
        };
        let found = inbox.store().search(&search)?;
        warnings.extend(found.warnings);
        if found.hits.is_empty() {
            inbox.confirm_empty()?;
        }
        let brief = |hit: inbox_store::Hit| SearchHit {
            thread: ThreadBrief {
                thread_id: hit.thread.thread_id,
                subject: hit.thread.subject,
                status: hit.thread.status,
                priority: hit.thread.priority,
            },
            message: hit.message,
            snippet: hit.snippet,
            // Three digits are enough to compare, and alike on every machine.
            score: hit.score.map(|score| (score * 1_000.0).round() / 1_000.0),
            archived: hit.archived,
        };
        Ok(Searched {
            hits: found.hits.into_iter().map(brief).collect(),
            truncated: found.truncated,
            indexed: Indexed {
                through: found.indexed_through,
                total: found.documents,
            },
            warnings,
            next_event_id: found.newest,
        })
    }
}

impl Answer for Searched {
    fn is_something(&self) -> bool {
        !self.hits.is_empty()
    }

    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        if self.hits.is_empty() {
            return Page::default().line("no message matches".to_owned());
        }
        let row = |hit: &SearchHit| {
            let place = match &hit.archived {
                Some(month) => format!("{} ({month})", hit.thread.thread_id),
                None => hit.thread.thread_id.to_string(),
            };
            vec![
                Cell::Text(hit.message.message_id.to_string()),
                Cell::Text(place),
                Cell::Text(hit.message.from_agent.to_string()),
                Cell::Time(hit.message.created_at),
                Cell::Text(hit.snippet.clone()),
            ]
        };
        let page = Page {
            blocks: vec![Block::Table {
                headings: vec!["MESSAGE", "THREAD", "FROM", "SENT", "TEXT"],
                rows: self.hits.iter().map(row).collect(),
            }],
        };
        if self.truncated {
            page.line("… more: raise --limit, or name more words".to_owned())
        } else {
            page
        }
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_absolute_or_so_long_ago() {
        let at = |text: &str| {
            text.parse::<When>()
                .map(|when| when.at(Millis(10_000_000_000)).0)
                .ok()
        };
        assert_eq!(at("2d"), Some(10_000_000_000 - 2 * 86_400_000));
        assert_eq!(at("90s"), Some(10_000_000_000 - 90_000));
        assert_eq!(at("1970-01-01T00:00:01Z"), Some(1_000));
        for text in ["", "d", "-2d", "2y", "yesterday", "٣d", "é"] {
            assert_eq!(at(text), None, "{text}");
        }
        assert!(at("99999999999999d").is_some());
    }
}
