//! Waking: waiting for mail that a session's client was not told of yet, and the line that tells it.

use std::time::{Duration, Instant};

use inbox_core::{EventId, Refusal};
use inbox_store::bell::Key;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::call::{Caller, Effect, Identity, Inbox, Operation, Waiting};
use crate::glance::{Glance, Glanced, pointer};
use crate::page::Page;

/// The most messages that are looked at for one line.
const PAGE: i64 = 100;

/// Wait for mail that the caller's client was not told of
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wake {}

/// A reason to wake somebody, or to stop waiting.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
pub struct Woken {
    /// The line that wakes: a pointer, and no word of the mail.
    pub line: Option<String>,
    /// Whether whoever started the wait is gone.
    pub is_left: bool,
}

impl Operation for Wake {
    const NAME: &'static str = "wake";
    const EFFECT: Effect = Effect::Wait;
    const IDENTITY: Identity = Identity::Required;
    type Answer = Woken;

    fn run(&self, inbox: &Inbox, caller: &Caller) -> Result<Woken, Refusal> {
        self.poll(&mut false, inbox, caller)
    }
}

impl Waiting for Wake {
    /// Whether whoever started the wait is gone.
    type State = bool;

    fn key(&self, caller: &Caller) -> Key {
        caller.agent.as_ref().map_or(Key::Any, Key::from)
    }

    fn timeout(&self) -> Option<Duration> {
        None
    }

    fn poll(&self, is_left: &mut bool, inbox: &Inbox, caller: &Caller) -> Result<Woken, Refusal> {
        if *is_left {
            return Ok(Woken {
                line: None,
                is_left: true,
            });
        }
        let found = Wake::glance(true).run(inbox, caller)?;
        Ok(Woken::from(&found))
    }

    fn is_over(answer: &Woken) -> bool {
        answer.is_left || answer.line.is_some()
    }

    fn wake_at(is_left: &bool) -> Option<Instant> {
        // Nobody rings for a client that has gone.
        is_left.then(Instant::now)
    }

    fn orphan(is_left: &mut bool) {
        *is_left = true;
    }

    fn is_stream(&self) -> bool {
        true
    }
}

impl Woken {
    /// Writes down that the caller's client was told. It is done after the line is out: who dies between the two
    /// is woken once more, and never not at all.
    pub fn offered(&self, inbox: &Inbox, caller: &Caller) -> Result<(), Refusal> {
        Wake::glance(false).run(inbox, caller).map(drop)
    }
}

impl Wake {
    /// The look of one turn: with `peek` whether there is anything, without it that the client was told.
    pub fn glance(peek: bool) -> Glance {
        Glance {
            peek,
            pointer: true,
            limit: Some(PAGE),
            // A wait that goes on says nothing of an empty inbox.
            is_silent: true,
            ..Glance::default()
        }
    }
}

impl From<&Glanced> for Woken {
    fn from(found: &Glanced) -> Self {
        Woken {
            line: pointer(&found.headers, found.more, "inbox read"),
            is_left: false,
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
