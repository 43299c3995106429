//! Whether a proof holds: every hash is computed again, and everything that is said twice is the same.

use serde_json::Value;
use sha2::{Digest, Sha384};

use super::{Anchor, FileProof, Link, Proof, Proven, Unproven};
use crate::assemble::{Assembler, Whole};
use crate::file::{Collector, Keys, Limits};
use crate::id::{Sequence, TopicId};
use crate::memo::TopicMemo;
use crate::operation::{Data, Operation, read};
use crate::running_hash::{Hashed, RunningHash};
use crate::tx_memo::Place;

/// What of the Wire must be what the store had.
const STORED: [(&str, &str); 8] = [
    ("uid", "/x_uid"),
    ("from_agent", "/sender"),
    ("kind", "/x_kind"),
    ("priority", "/x_priority"),
    ("subject", "/payload/subject"),
    ("body", "/payload/body"),
    ("created_at", "/ts"),
    ("to_agent", "/payload/to_agent"),
];

pub(super) fn digest(bytes: &[u8]) -> [u8; 48] {
    Sha384::digest(bytes).into()
}

fn unfit(field: impl Into<String>, why: impl Into<String>) -> Unproven {
    Unproven::Unfit {
        field: field.into(),
        why: why.into(),
    }
}

impl Proof {
    /// Reads a file and checks all of it, without asking anybody.
    pub fn check(value: &Value) -> Result<(Self, Proven), Unproven> {
        let (proof, is_sealed) = Proof::read(value)?;
        let proven = proof.holds()?;
        // Last, because what does not fit is better named by itself.
        if !is_sealed {
            return Err(unfit(
                "sha256",
                "the file was changed after it was written, in something that no hash of the topic covers",
            ));
        }
        Ok((proof, proven))
    }

    fn holds(&self) -> Result<Proven, Unproven> {
        let said = &self.said;
        if self.before.sequence == 0 && self.before.hash != RunningHash::EMPTY {
            return Err(unfit("before", "before the first message there is no hash"));
        }
        // The number is whatever the file says, up to the greatest that there is.
        if self.before.sequence.checked_add(1) != Some(said.first.get()) {
            return Err(unfit("before", "it is not the number before the message"));
        }
        let anchor = follow(self.topic, self.before, &self.links, "links")?;
        let whole = self.assembled()?;
        for (field, fits) in [
            ("sequence_number", whole.last == said.sequence),
            ("first_sequence_number", whole.first == said.first),
            ("payer_account_id", whole.payer == said.payer),
            ("content", whole.bytes == said.content),
        ] {
            if !fits {
                let field = format!("message.{field}");
                return Err(unfit(field, "the links have another"));
            }
        }
        let mut own = self.links.iter().filter(|link| link.bytes.is_some());
        let last = self.links.iter().find(|link| link.sequence == whole.last);
        if last.map(|link| link.time) != Some(said.time) {
            return Err(unfit(
                "message.consensus_timestamp",
                "the links have another",
            ));
        }
        let named = own.find_map(|link| link.piece.as_ref());
        let named = named.map(|piece| format!("{}@{}", piece.payer, piece.valid_start));
        if named.is_some() && named != said.transaction {
            return Err(unfit("message.transaction_id", "the links have another"));
        }
        let text = self.text()?;
        let wire = text.and_then(|(text, _)| serde_json::from_str::<Value>(&text).ok());
        if let Some(wire) = &wire {
            self.is_stored(wire)?;
        }
        let file_anchor = match &self.file {
            None => None,
            Some(file) => Some(follow(file.topic, START, &file.links, "file.links")?),
        };
        Ok(Proven {
            anchor,
            file_anchor,
            wire,
        })
    }

    /// The message, put together from the links that have bytes.
    fn assembled(&self) -> Result<Whole, Unproven> {
        let mut assembler = Assembler::default();
        let mut found = None;
        for (index, link) in self.links.iter().enumerate() {
            let Some(bytes) = &link.bytes else {
                continue;
            };
            let field = format!("links[{index}]");
            if found.is_some() {
                return Err(unfit(field, "the message is whole before it"));
            }
            found = assembler
                .add(link.sequence, link.payer, link.piece, bytes)
                .map_err(|refused| unfit(field, refused.to_string()))?;
        }
        found.ok_or_else(|| unfit("links", "they do not have all of the message"))
    }

    /// What the message says, and where that stands.
    fn text(&self) -> Result<Option<(String, &'static str)>, Unproven> {
        let data = said(&self.said.content);
        let named = data.as_ref().and_then(Data::file);
        match (&self.file, named) {
            (None, None) => Ok(data.map(|data| (data.as_str().to_owned(), "message"))),
            (None, Some(_)) => Err(unfit("file", "the message leads to one")),
            (Some(_), None) => Err(unfit("file", "the message leads to none")),
            (Some(file), Some(topic)) if file.topic != topic => Err(unfit(
                "file.topic_id",
                format!("the message leads to {topic}"),
            )),
            (Some(file), Some(_)) => Ok(Some((content(file)?, "file"))),
        }
    }

    fn is_stored(&self, wire: &Value) -> Result<(), Unproven> {
        for (key, place) in STORED {
            let (Some(stored), Some(said)) = (self.stored.get(key), wire.pointer(place)) else {
                continue;
            };
            if stored != said {
                let field = format!("stored.{key}");
                return Err(unfit(field, format!("the message says {said}")));
            }
        }
        Ok(())
    }
}

/// Before a topic's first message.
const START: Anchor = Anchor {
    sequence: 0,
    hash: RunningHash::EMPTY,
};

/// The hash after every link, each computed again.
fn follow(topic: TopicId, from: Anchor, links: &[Link], name: &str) -> Result<Anchor, Unproven> {
    let mut at = from;
    let mut time = None;
    for (index, link) in links.iter().enumerate() {
        let place = format!("{name}[{index}]");
        if Some(link.sequence) != at.sequence.checked_add(1).and_then(Sequence::new) {
            let why = format!("{} follows on {}", link.sequence, at.sequence);
            return Err(unfit(format!("{place}.sequence_number"), why));
        }
        if time.is_some_and(|before| link.time <= before) {
            let field = format!("{place}.consensus_timestamp");
            return Err(unfit(field, "it is not later than the one before"));
        }
        let hash = at.hash.next_hashed(&Hashed {
            payer: link.payer,
            topic,
            time: link.time,
            sequence: link.sequence,
            message: link.digest,
        });
        if hash != link.hash {
            let why = format!("what stands there leads to {hash}");
            return Err(unfit(format!("{place}.running_hash"), why));
        }
        time = Some(link.time);
        at = Anchor {
            sequence: link.sequence.get(),
            hash,
        };
    }
    Ok(at)
}

/// What a message after HCS-10 carries.
fn said(content: &[u8]) -> Option<Data> {
    for place in [Place::Inbound, Place::Outbound, Place::Connection] {
        match read(content, place) {
            Ok((Operation::InboundMessage(said), _)) => return Some(said.data),
            Ok((Operation::OutboundMessage(said), _)) => return Some(said.data),
            Ok((Operation::Message(said), _)) => return Some(said.data),
            _ => {}
        }
    }
    None
}

/// The content of a file, with every promise of its memo checked.
fn content(file: &FileProof) -> Result<String, Unproven> {
    let Ok((TopicMemo::File(memo), _)) = TopicMemo::read(&file.memo) else {
        return Err(unfit("file.memo", "it is not the memo of a file"));
    };
    let mut collector = Collector::new(memo, Limits::default());
    let mut assembler = Assembler::default();
    for (index, link) in file.links.iter().enumerate() {
        let place = format!("file.links[{index}]");
        let Some(bytes) = &link.bytes else {
            return Err(unfit(place, "a file is shown with all its bytes"));
        };
        let whole = assembler
            .add(link.sequence, link.payer, link.piece, bytes)
            .map_err(|refused| unfit(place.clone(), refused.to_string()))?;
        if let Some(whole) = whole {
            collector
                .add(&whole.bytes)
                .map_err(|refused| unfit(place, refused.to_string()))?;
        }
    }
    let keys = Keys {
        has_submit_key: true,
        has_admin_key: false,
    };
    let (file, _) = collector
        .finish(keys)
        .map_err(|refused| unfit("file", refused.to_string()))?;
    String::from_utf8(file.content).map_err(|_| unfit("file", "it is no text"))
}
