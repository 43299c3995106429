//! What stands on any topic: its memo, who may write, and every message decoded, with what was forgiven or cannot be read.

use std::collections::BTreeMap;
use std::ops::ControlFlow;

use inbox_core::Refusal;
use inbox_hcs::{
    AccountId, Deviation, Note, Place, Refused, Sequence, Standing, Timestamp, TopicId, TopicMemo,
    TopicType, TransactionMemo, read, read_registry, standing,
};
use inbox_hedera::mirror::{Mirror, TopicFacts};
use serde_json::Value;

use crate::history::{self, Said};
use crate::net::topic;
use crate::told::Told;

/// A topic, decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Inspected {
    /// The topic.
    pub topic: TopicId,
    /// What the mirror has of it.
    pub facts: TopicFacts,
    /// What its memo says that it is, with what was forgiven; or why that cannot be read.
    pub memo: Result<(TopicMemo, Vec<Deviation>), Refused>,
    /// Its messages.
    pub entries: Vec<Entry>,
    /// Whether there are more than were asked for.
    pub has_more: bool,
}

/// A message, decoded.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// Its number.
    pub sequence: Sequence,
    /// The number of its first piece.
    pub first: Sequence,
    /// When.
    pub time: Timestamp,
    /// Who paid for it.
    pub payer: AccountId,
    /// What it is: an operation's name, `chunk`, `note`, `json`, `text` or `bytes`.
    pub kind: String,
    /// Whether who paid is whom it names; nothing where it names nobody.
    pub is_verified: Option<bool>,
    /// What it says.
    pub content: Value,
    /// How many bytes it has.
    pub bytes: usize,
    /// What was forgiven.
    pub deviations: Vec<Deviation>,
    /// The memo of its transaction, where it was asked for.
    pub transaction_memo: Option<String>,
    /// Why it is not what the topic is for.
    pub refused: Option<String>,
}

/// What of a topic to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// Only what comes after this message.
    pub after: Option<Sequence>,
    /// At most so many messages.
    pub most: usize,
    /// Whether to ask for the memo of each message's transaction, too: one more question each.
    pub has_memos: bool,
}

/// Decodes a topic.
pub fn inspect(mirror: &Mirror, id: TopicId, span: Span) -> Result<Inspected, Refusal> {
    let facts = topic(mirror, id)?;
    let memo = TopicMemo::read(&facts.memo);
    let mut reader = Reader {
        mirror,
        facts: &facts,
        memo: memo.as_ref().ok().map(|(memo, _)| *memo),
        owners: BTreeMap::new(),
        has_memos: span.has_memos,
    };
    let mut entries = Vec::new();
    let mut has_more = false;
    history::messages(mirror, id, span.after, |said| {
        if entries.len() == span.most {
            has_more = true;
            return Ok(ControlFlow::Break(()));
        }
        entries.push(reader.entry(&said)?);
        Ok(ControlFlow::Continue(()))
    })?;
    Ok(Inspected {
        topic: id,
        entries,
        has_more,
        memo,
        facts,
    })
}

struct Reader<'a> {
    mirror: &'a Mirror,
    facts: &'a TopicFacts,
    memo: Option<TopicMemo>,
    /// Whether an account has the key that alone may write.
    owners: BTreeMap<AccountId, bool>,
    has_memos: bool,
}

impl Reader<'_> {
    fn entry(&mut self, said: &Said) -> Result<Entry, Refusal> {
        let mut entry = Entry {
            sequence: said.sequence,
            first: said.first,
            time: said.time,
            payer: said.payer,
            kind: String::new(),
            is_verified: None,
            content: content(&said.bytes),
            bytes: said.bytes.len(),
            deviations: Vec::new(),
            transaction_memo: self.transaction_memo(said)?,
            refused: None,
        };
        entry.kind = plain_kind(&entry.content, &said.bytes).to_owned();
        match self.memo {
            Some(TopicMemo::File(_)) => {
                entry.kind = String::from("chunk");
            }
            Some(TopicMemo::Registry { .. }) => match read_registry(&said.bytes) {
                Ok((_, deviations)) => entry.named(deviations),
                Err(refused) => entry.refused = Some(refused.to_string()),
            },
            Some(memo) => {
                let place = memo.topic_type().map_or(Place::Connection, Place::from);
                match read(&said.bytes, place) {
                    Ok((operation, deviations)) => {
                        let owner = self.owner(said.payer)?;
                        let standing = standing(&operation, said.payer, owner);
                        entry.is_verified = Some(matches!(standing, Standing::Verified(_)));
                        entry.named(deviations);
                        let memo = entry.transaction_memo.as_deref();
                        let other = memo.and_then(|memo| TransactionMemo::check(memo, &operation));
                        entry.deviations.extend(other);
                    }
                    Err(refused) => entry.refused = Some(refused.to_string()),
                }
            }
            None => {
                if let Ok((_, deviations)) = Note::read(&said.bytes) {
                    entry.kind = String::from("note");
                    entry.deviations = deviations;
                }
            }
        }
        Ok(entry)
    }

    fn transaction_memo(&self, said: &Said) -> Result<Option<String>, Refusal> {
        if !self.has_memos {
            return Ok(None);
        }
        let found = self.mirror.transaction_at(said.time).told()?;
        Ok(found.map(|facts| String::from_utf8_lossy(&facts.memo).into_owned()))
    }

    /// Whose topic it is, as far as its memo or its key says so.
    fn owner(&mut self, payer: AccountId) -> Result<Option<AccountId>, Refusal> {
        match self.memo {
            Some(TopicMemo::Inbound { account, .. }) => Ok(Some(account)),
            Some(memo) if memo.topic_type() == Some(TopicType::Outbound) => {
                Ok(self.has_key(payer)?.then_some(payer))
            }
            _ => Ok(None),
        }
    }

    fn has_key(&mut self, account: AccountId) -> Result<bool, Refusal> {
        if let Some(known) = self.owners.get(&account) {
            return Ok(*known);
        }
        let key = self
            .mirror
            .account(account)
            .told()?
            .and_then(|facts| facts.key);
        let has_it = key.is_some() && key == self.facts.submit_key;
        self.owners.insert(account, has_it);
        Ok(has_it)
    }
}

impl Entry {
    /// It is an operation, and its name is its kind.
    fn named(&mut self, deviations: Vec<Deviation>) {
        if let Some(name) = self.content.get("op").and_then(Value::as_str) {
            self.kind = name.to_owned();
        }
        self.deviations = deviations;
    }
}

/// What a message says, as JSON where it is that.
fn content(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
        Err(_) => Value::Null,
    }
}

fn plain_kind(content: &Value, bytes: &[u8]) -> &'static str {
    match content {
        Value::Object(_) | Value::Array(_) => "json",
        Value::Null if bytes != b"null" => "bytes",
        _ => "text",
    }
}
