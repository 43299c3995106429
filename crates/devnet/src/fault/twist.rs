//! A mirror that does not say what there is: the next answers are wrong in a way that was asked for.

use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use super::take;

/// A way in which an answer of the mirror is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Twist {
    /// A list of messages leaves one out.
    Drop,
    /// A list of messages has one twice.
    Repeat,
    /// A list of messages has two in the wrong order.
    Reorder,
    /// A list of messages is another topic's.
    Other,
    /// An answer ends in its midst.
    Cut,
    /// There were too many requests.
    Limit,
    /// Something is wrong inside.
    Fail,
    /// A page for people stands in for the answer.
    Html,
    /// A list of messages is left out.
    Bare,
    /// A list of messages has a whole one as the first piece of another.
    Pieces,
}

impl Twist {
    /// Every way.
    pub const ALL: [Twist; 10] = [
        Twist::Drop,
        Twist::Repeat,
        Twist::Reorder,
        Twist::Other,
        Twist::Cut,
        Twist::Limit,
        Twist::Fail,
        Twist::Html,
        Twist::Bare,
        Twist::Pieces,
    ];

    /// Its word.
    pub const fn name(self) -> &'static str {
        match self {
            Twist::Drop => "drop",
            Twist::Repeat => "repeat",
            Twist::Reorder => "reorder",
            Twist::Other => "other",
            Twist::Cut => "cut",
            Twist::Limit => "limit",
            Twist::Fail => "fail",
            Twist::Html => "html",
            Twist::Bare => "bare",
            Twist::Pieces => "pieces",
        }
    }
}

/// How many answers are wrong in each way.
#[derive(Debug, Default)]
pub(crate) struct Twists([AtomicU32; Twist::ALL.len()]);

impl Twists {
    pub(crate) fn set(&self, twist: Twist, count: u32) {
        self.0[twist as usize].store(count, Ordering::SeqCst);
    }

    pub(crate) fn left(&self, twist: Twist) -> u32 {
        self.0[twist as usize].load(Ordering::SeqCst)
    }

    /// Whether this answer is wrong in this way.
    pub(crate) fn is_due(&self, twist: Twist) -> bool {
        take(&self.0[twist as usize])
    }

    /// Makes a list of messages wrong, if it is due and long enough to be.
    pub(crate) fn bend(&self, answer: &mut Value) {
        let Some(Value::Array(messages)) = answer.get_mut("messages") else {
            return;
        };
        if self.is_due(Twist::Bare) {
            answer["messages"] = Value::Null;
            return;
        }
        let whole = messages.last_mut();
        if let Some(whole) = whole.filter(|last| last["chunk_info"].is_null())
            && self.is_due(Twist::Pieces)
        {
            whole["chunk_info"] = json!({
                "initial_transaction_id": {
                    "account_id": whole["payer_account_id"], "nonce": 0, "scheduled": false,
                    "transaction_valid_start": whole["consensus_timestamp"],
                },
                "number": 1,
                "total": 2,
            });
            return;
        }
        let place = messages.len() / 2;
        if place == 0 {
            return;
        }
        if self.is_due(Twist::Drop) {
            messages.remove(place - 1);
        } else if self.is_due(Twist::Repeat) {
            messages.insert(place, messages[place].clone());
        } else if self.is_due(Twist::Reorder) {
            messages.swap(place, place - 1);
        }
    }
}
