//! Waking: mail that a session's client was not told of yet, and the line that tells it.

use inbox_core::{Door, EventId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::glance::{Glance, Glanced, pointer};
use crate::page::Page;

/// The most messages that are looked at for one line.
const PAGE: i64 = 100;

/// A reason to wake somebody, if there is one.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Woken {
    /// The line that wakes: a pointer, and no word of the mail.
    pub line: Option<String>,
}

impl Woken {
    /// This line.
    pub fn of(line: &str) -> Self {
        Woken {
            line: Some(line.to_owned()),
        }
    }

    /// The look whether there is anything to wake for.
    pub fn look() -> Glance {
        Glance {
            peek: true,
            pointer: true,
            limit: Some(PAGE),
            // A wait that goes on says nothing of an empty inbox.
            is_silent: true,
            ..Glance::default()
        }
    }

    /// The note that the client was told of what was found, and of nothing that came since, by this door. Where it is made after the line is out, who dies between the two
    /// is woken once more, and never not at all.
    pub fn note(door: Door, found: &Glanced) -> Glance {
        Glance {
            peek: false,
            door: Some(door),
            up_to_event: Some(found.next_event_id),
            ..Woken::look()
        }
    }
}

impl From<&Glanced> for Woken {
    fn from(found: &Glanced) -> Self {
        Woken {
            line: pointer(&found.headers, found.more, "inbox read"),
        }
    }
}

impl Answer for Woken {
    fn is_something(&self) -> bool {
        self.line.is_some()
    }

    fn go_on_at(&mut self, _next_event_id: EventId) {}

    fn page(&self) -> Page {
        match &self.line {
            Some(line) => Page::default().line(line.clone()),
            None => Page::default(),
        }
    }
}
