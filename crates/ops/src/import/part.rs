//! What of an import one transaction takes in: others can write in between, and the log stays short.

use crate::exchange::{Bad, Batch, Incoming, LooseRead};

/// How much that is at the most.
const MESSAGES: usize = 500;
const BYTES: usize = 4 << 20;

/// What one transaction takes in.
#[derive(Default)]
pub(super) struct Part<'a> {
    pub(super) messages: &'a [Incoming],
    pub(super) reads: &'a [LooseRead],
    pub(super) bad: &'a [Bad],
}

impl<'a> Part<'a> {
    /// The parts of a batch, and at least one. What has a key is one change, which is remembered with its answer.
    pub(super) fn all(batch: &'a Batch, is_keyed: bool) -> Vec<Self> {
        if is_keyed {
            return vec![Part {
                messages: &batch.messages,
                reads: &batch.reads,
                bad: &batch.bad,
            }];
        }
        let mut parts = Vec::new();
        let mut rest = batch.messages.as_slice();
        while !rest.is_empty() {
            let mut bytes = 0;
            let fits = |message: &&Incoming| {
                bytes += size(message);
                bytes <= BYTES
            };
            let count = rest.iter().take(MESSAGES).take_while(fits).count();
            let (messages, after) = rest.split_at(count.max(1));
            parts.push(Part {
                messages,
                ..Part::default()
            });
            rest = after;
        }
        parts.extend(batch.reads.chunks(MESSAGES).map(|reads| Part {
            reads,
            ..Part::default()
        }));
        if parts.is_empty() {
            parts.push(Part::default());
        }
        parts[0].bad = &batch.bad;
        parts
    }
}

/// About how many bytes a message takes: what it says is the least of it where it has a payload, a context and many readers.
fn size(message: &Incoming) -> usize {
    serde_json::to_vec(message).map_or(0, |whole| whole.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{BYTES, Batch, Part};

    #[test]
    fn a_part_is_as_large_as_what_it_writes_whatever_of_a_message_that_is() {
        let text = "x".repeat(BYTES / 8);
        let seen = |n| json!({ "reader": format!("reader-{n}"), "at": "2026-01-01T00:00:00Z" });
        let readers: Vec<_> = (0..BYTES / 400).map(seen).collect();
        for (field, large) in [
            ("body", json!(text)),
            ("subject", json!(text)),
            ("payload", json!({ "text": text })),
            (
                "payload",
                json!({ "inbox": { "context": { "text": text } } }),
            ),
            ("reads", json!(readers)),
        ] {
            let message = |n: usize| {
                let mut message = json!({
                    "place": format!("line {n}"), "uid": format!("uid-{n}"), "from": "lead", "to": ["backend"],
                    "created_at": "2026-01-01T00:00:00Z", "body": "",
                });
                message[field] = large.clone();
                serde_json::from_value(message).expect("a message")
            };
            let batch = Batch {
                messages: (0..16).map(message).collect(),
                ..Batch::default()
            };
            let counts = |is_keyed| {
                let parts = Part::all(&batch, is_keyed).into_iter();
                parts.map(|part| part.messages.len()).collect::<Vec<_>>()
            };
            let parts = counts(false);
            assert!(
                parts.len() > 1 && parts.iter().all(|count| *count < 8),
                "{field}: {parts:?}"
            );
            assert_eq!(parts.iter().sum::<usize>(), 16);
            assert_eq!(counts(true), [16]);
        }
    }
}
