//! The file of a proof: how it is written and read.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::{Anchor, FileProof, Link, MOST_LINKS, Proof, Said, Unproven, VERSION};
use crate::assemble::Piece;
use crate::file::{Hash, hex};
use crate::id::{Sequence, Timestamp};
use crate::running_hash::read_digits;

const SEAL: &str = "sha256";

/// How much of a name that is no field's is said.
const MOST_OF_A_NAME: usize = 100;

impl Proof {
    /// The file, sealed with the hash of all else in it.
    pub fn write(&self) -> Value {
        let mut value = json!({
            "inbox_proof": VERSION,
            "network": self.network,
            "topic_id": self.topic.to_string(),
            "running_hash_version": 3,
            "message": {
                "sequence_number": self.said.sequence.get(),
                "first_sequence_number": self.said.first.get(),
                "consensus_timestamp": self.said.time.to_string(),
                "payer_account_id": self.said.payer.to_string(),
                "transaction_id": self.said.transaction,
                "content": STANDARD.encode(&self.said.content),
            },
            "before": anchor(&self.before),
            "links": self.links.iter().map(link).collect::<Vec<_>>(),
            "after": self.links.last().map(|last| anchor(&Anchor {
                sequence: last.sequence.get(),
                hash: last.hash,
            })),
            "file": self.file.as_ref().map(|file| json!({
                "topic_id": file.topic.to_string(),
                "memo": file.memo,
                "links": file.links.iter().map(link).collect::<Vec<_>>(),
            })),
            "stored": self.stored,
        });
        value[SEAL] = json!(seal(&value));
        value
    }

    /// Reads a file. What it says is not checked yet, but for its form and its seal.
    pub fn read(value: &Value) -> Result<(Self, bool), Unproven> {
        let top = Part::of(value, String::new())?;
        top.only(&[
            "inbox_proof",
            "network",
            "topic_id",
            "running_hash_version",
            "message",
            "before",
            "links",
            "after",
            "file",
            "stored",
            SEAL,
        ])?;
        top.same("inbox_proof", &json!(VERSION), "1")?;
        top.same("running_hash_version", &json!(3), "3")?;
        let said = top.part("message")?;
        said.only(&[
            "sequence_number",
            "first_sequence_number",
            "consensus_timestamp",
            "payer_account_id",
            "transaction_id",
            "content",
        ])?;
        let links = top.links("links")?;
        let after = top.part("after")?.anchor()?;
        let proof = Proof {
            network: top.text("network")?.to_owned(),
            topic: top.parsed("topic_id", "a topic")?,
            said: Said {
                sequence: said.sequence("sequence_number")?,
                first: said.sequence("first_sequence_number")?,
                time: said.parsed("consensus_timestamp", "a time")?,
                payer: said.parsed("payer_account_id", "an account")?,
                transaction: match said.get("transaction_id") {
                    Value::Null => None,
                    _ => Some(said.text("transaction_id")?.to_owned()),
                },
                content: said.bytes("content")?,
            },
            before: top.part("before")?.anchor()?,
            file: match top.get("file") {
                Value::Null => None,
                _ => {
                    let file = top.part("file")?;
                    file.only(&["topic_id", "memo", "links"])?;
                    Some(FileProof {
                        topic: file.parsed("topic_id", "a topic")?,
                        memo: file.text("memo")?.to_owned(),
                        links: file.links("links")?,
                    })
                }
            },
            stored: top.get("stored").clone(),
            links,
        };
        let last = proof.links.last().map(|last| Anchor {
            sequence: last.sequence.get(),
            hash: last.hash,
        });
        if last != Some(after) {
            return Err(Unproven::Unfit {
                field: "after".into(),
                why: "it is not the hash of the last link".into(),
            });
        }
        Ok((proof, value[SEAL] == seal(value)))
    }
}

/// The hash of everything in the file but itself, in whatever order its keys are.
fn seal(value: &Value) -> String {
    let mut value = value.clone();
    if let Some(fields) = value.as_object_mut() {
        fields.remove(SEAL);
    }
    Hash::of(ordered(&value).to_string().as_bytes()).to_string()
}

/// The same, with keys in the order of the alphabet.
fn ordered(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort();
            let fields = keys
                .into_iter()
                .map(|key| (key.clone(), ordered(&fields[key])));
            Value::Object(fields.collect())
        }
        Value::Array(list) => Value::Array(list.iter().map(ordered).collect()),
        other => other.clone(),
    }
}

fn anchor(anchor: &Anchor) -> Value {
    json!({ "sequence_number": anchor.sequence, "running_hash": anchor.hash.to_string() })
}

fn link(link: &Link) -> Value {
    let mut value = json!({
        "sequence_number": link.sequence.get(),
        "consensus_timestamp": link.time.to_string(),
        "payer_account_id": link.payer.to_string(),
        "running_hash": link.hash.to_string(),
    });
    match &link.bytes {
        Some(bytes) => value["message"] = json!(STANDARD.encode(bytes)),
        None => value["message_sha384"] = json!(hex(&link.digest)),
    }
    if let Some(piece) = &link.piece {
        value["piece"] = json!({
            "number": piece.number,
            "total": piece.total,
            "transaction_id": format!("{}@{}", piece.payer, piece.valid_start),
        });
    }
    value
}

/// An object of the file, and where it stands.
struct Part<'v> {
    fields: &'v Map<String, Value>,
    at: String,
}

impl<'v> Part<'v> {
    fn of(value: &'v Value, at: String) -> Result<Self, Unproven> {
        let fields = value.as_object().ok_or_else(|| Unproven::Form {
            field: if at.is_empty() {
                "the file".into()
            } else {
                at.clone()
            },
            found: short(value),
            expected: "an object",
        })?;
        Ok(Part { fields, at })
    }

    fn place(&self, key: &str) -> String {
        if self.at.is_empty() {
            key.to_owned()
        } else {
            format!("{}.{key}", self.at)
        }
    }

    fn get(&self, key: &str) -> &'v Value {
        self.fields.get(key).unwrap_or(&Value::Null)
    }

    fn wrong(&self, key: &str, expected: &'static str) -> Unproven {
        Unproven::Form {
            field: self.place(key),
            found: short(self.get(key)),
            expected,
        }
    }

    /// Nothing else stands there: what is not read is not proven.
    fn only(&self, keys: &[&str]) -> Result<(), Unproven> {
        match self.fields.keys().find(|key| !keys.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                // It is somebody's text, and may have no end.
                let begin: String = key.chars().take(MOST_OF_A_NAME).collect();
                Err(Unproven::Form {
                    field: self.place(&begin),
                    found: short(self.get(key)),
                    expected: "nothing: it is no field of a proof",
                })
            }
        }
    }

    fn same(&self, key: &str, value: &Value, expected: &'static str) -> Result<(), Unproven> {
        (self.get(key) == value)
            .then_some(())
            .ok_or_else(|| self.wrong(key, expected))
    }

    fn part(&self, key: &str) -> Result<Part<'v>, Unproven> {
        Part::of(self.get(key), self.place(key))
    }

    fn text(&self, key: &str) -> Result<&'v str, Unproven> {
        let text = self.get(key).as_str();
        text.ok_or_else(|| self.wrong(key, "a text"))
    }

    fn parsed<T: std::str::FromStr + ToString>(
        &self,
        key: &str,
        expected: &'static str,
    ) -> Result<T, Unproven> {
        let text = self.text(key)?;
        let read = text.parse::<T>().ok();
        // One way to write a thing, so that nothing can be changed unseen.
        read.filter(|value| value.to_string() == text)
            .ok_or_else(|| self.wrong(key, expected))
    }

    fn sequence(&self, key: &str) -> Result<Sequence, Unproven> {
        let number = self.get(key).as_u64().and_then(Sequence::new);
        number.ok_or_else(|| self.wrong(key, "the number of a message"))
    }

    fn bytes(&self, key: &str) -> Result<Vec<u8>, Unproven> {
        let bytes = STANDARD.decode(self.text(key)?);
        bytes.map_err(|_| self.wrong(key, "base64"))
    }

    fn anchor(&self) -> Result<Anchor, Unproven> {
        self.only(&["sequence_number", "running_hash"])?;
        let number = self.get("sequence_number").as_u64();
        Ok(Anchor {
            sequence: number.ok_or_else(|| self.wrong("sequence_number", "a number"))?,
            hash: self.parsed("running_hash", "a hash")?,
        })
    }

    fn links(&self, key: &str) -> Result<Vec<Link>, Unproven> {
        let list = self.get(key).as_array();
        let list = list
            .filter(|list| !list.is_empty() && list.len() <= MOST_LINKS)
            .ok_or_else(|| self.wrong(key, "a list of links"))?;
        list.iter()
            .enumerate()
            .map(|(index, value)| Part::of(value, format!("{}[{index}]", self.place(key)))?.link())
            .collect()
    }

    fn link(&self) -> Result<Link, Unproven> {
        self.only(&[
            "sequence_number",
            "consensus_timestamp",
            "payer_account_id",
            "running_hash",
            "message",
            "message_sha384",
            "piece",
        ])?;
        let (bytes, digest) = match (self.get("message"), self.get("message_sha384")) {
            (Value::Null, _) => {
                let digest = read_digits(self.text("message_sha384")?);
                let digest = digest.ok_or_else(|| self.wrong("message_sha384", "a SHA-384"))?;
                (None, digest)
            }
            (_, Value::Null) => {
                let bytes = self.bytes("message")?;
                let digest = super::check::digest(&bytes);
                (Some(bytes), digest)
            }
            _ => return Err(self.wrong("message_sha384", "nothing where the message is")),
        };
        Ok(Link {
            sequence: self.sequence("sequence_number")?,
            time: self.parsed("consensus_timestamp", "a time")?,
            payer: self.parsed("payer_account_id", "an account")?,
            digest,
            bytes,
            piece: match self.get("piece") {
                Value::Null => None,
                _ => Some(self.part("piece")?.piece()?),
            },
            hash: self.parsed("running_hash", "a hash")?,
        })
    }

    fn piece(&self) -> Result<Piece, Unproven> {
        self.only(&["number", "total", "transaction_id"])?;
        let count = |key: &str| {
            let number = self.get(key).as_u64();
            let number = number.and_then(|number| u32::try_from(number).ok());
            number.ok_or_else(|| self.wrong(key, "a number"))
        };
        let id = self.text("transaction_id")?.split_once('@');
        let id = id.and_then(|(payer, start)| {
            Some((payer.parse().ok()?, start.parse::<Timestamp>().ok()?))
        });
        let (payer, valid_start) =
            id.ok_or_else(|| self.wrong("transaction_id", "the id of a transaction"))?;
        Ok(Piece {
            payer,
            valid_start,
            number: count("number")?,
            total: count("total")?,
        })
    }
}

fn short(value: &Value) -> String {
    const SHOWN: usize = 40;
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text,
    }
}
