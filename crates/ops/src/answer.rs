//! What operations answer: the JSON contract's shapes.

use inbox_core::{Address, Artifact, EventId, Lease, Message, Mode, Thread};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::page::Page;

/// An answer, on every surface.
pub trait Answer: Serialize + DeserializeOwned + JsonSchema + Send + 'static {
    /// Whether it found or did something; otherwise the exit status is 10, which is no error.
    fn is_something(&self) -> bool {
        true
    }

    /// Sets the cursor, which a writer knows only after its commit.
    fn go_on_at(&mut self, next_event_id: EventId);

    /// The answer for people.
    fn page(&self) -> Page;

    /// What should be said besides, such as a file that could not be read.
    fn warnings(&self) -> &[String] {
        &[]
    }
}

/// The answer of every command that writes a message.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Posted {
    /// The thread as it is now.
    pub thread: Thread,
    /// The message that was written.
    pub message: Message,
    /// What was attached to it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<Artifact>,
    /// How each address was read; `send` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub delivery: Vec<Delivery>,
    /// Whom routes told of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notified: Vec<Address>,
    /// What should be known besides.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Where to go on.
    pub next_event_id: EventId,
}

/// How one address was read.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Delivery {
    /// The address.
    pub address: Address,
    /// How it was read.
    pub mode: Mode,
    /// How many it reaches now.
    pub reaches: i64,
    /// What the sender should know about it.
    pub note: Option<String>,
}

impl Answer for Posted {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let mut page = Page::default().outcome(&self.thread);
        for delivery in self
            .delivery
            .iter()
            .filter(|delivery| delivery.note.is_some())
        {
            page = page.line(format!(
                "{}: {}",
                delivery.address,
                delivery.note.as_deref().unwrap_or_default()
            ));
        }
        if !self.notified.is_empty() {
            let names: Vec<_> = self.notified.iter().map(ToString::to_string).collect();
            page = page.line(format!("told {}", names.join(", ")));
        }
        page
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

/// The answer of `fetch` and `list`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Threads {
    /// The threads.
    pub threads: Vec<Thread>,
    /// Whether the limit cut the answer short.
    pub truncated: bool,
    /// Where to go on.
    pub next_event_id: EventId,
    /// Whether an empty answer is a success as good as any, as in `list`.
    #[serde(skip, default)]
    pub empty_is_fine: bool,
}

impl Answer for Threads {
    fn is_something(&self) -> bool {
        self.empty_is_fine || !self.threads.is_empty()
    }

    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        if self.threads.is_empty() && !self.empty_is_fine {
            return Page::default()
                .line(format!("no threads; {}", wait_for_more(self.next_event_id)));
        }
        let page = Page::default().threads(&self.threads);
        if self.truncated {
            page.line("… more: raise --limit, or filter".to_owned())
        } else {
            page
        }
    }
}

/// How to go on without missing what comes in between.
fn wait_for_more(next_event_id: EventId) -> String {
    format!("inbox watch --after-event {next_event_id} waits for something new")
}

/// The answer of `claim` and `renew`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Leased {
    /// The thread, or null when there was nothing to take.
    pub thread: Option<Thread>,
    /// The lease with its token, or null.
    pub lease: Option<Lease>,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Answer for Leased {
    fn is_something(&self) -> bool {
        self.thread.is_some()
    }

    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        let (Some(thread), Some(lease)) = (&self.thread, &self.lease) else {
            return Page::default().line(format!(
                "nothing to claim; {}",
                wait_for_more(self.next_event_id)
            ));
        };
        let page = Page::default()
            .thread_line(thread)
            .until("leased until", lease.expires_at);
        match &lease.lease_token {
            Some(token) => page.line(format!("--lease {token}")),
            None => page,
        }
    }
}

/// The answer of `release`.
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
pub struct Released {
    /// The thread as it is now.
    pub thread: Thread,
    /// Where to go on.
    pub next_event_id: EventId,
}

impl Answer for Released {
    fn go_on_at(&mut self, next_event_id: EventId) {
        self.next_event_id = next_event_id;
    }

    fn page(&self) -> Page {
        Page::default().outcome(&self.thread)
    }
}
