//! An answer for people and for models: a few blocks that a surface lays out for its reader.

use inbox_core::record::Millis;
use inbox_core::{Event, Message, Thread};

/// A page of text. What it holds is untrusted; the surface makes it safe to print.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Page {
    /// What is on it, from top to bottom.
    pub blocks: Vec<Block>,
}

/// One part of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    /// Rows under headings; without headings when they say themselves what they are.
    Table {
        /// The headings.
        headings: Vec<&'static str>,
        /// The rows.
        rows: Vec<Vec<Cell>>,
    },
    /// One line.
    Line(Vec<Cell>),
    /// Several lines, as they are.
    Text(String),
}

/// One piece of a line.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// A text on one line.
    Text(String),
    /// A time, shown relative to now.
    Time(Millis),
    /// What a deadline ends, and the deadline, shown with how much is left.
    Until(String, Millis),
}

impl Page {
    /// Adds a line.
    pub fn line(mut self, text: String) -> Self {
        self.blocks.push(Block::Line(vec![Cell::Text(text)]));
        self
    }

    /// Adds lines as they are.
    pub fn text(mut self, text: String) -> Self {
        self.blocks.push(Block::Text(text));
        self
    }

    /// Adds a deadline.
    pub fn until(mut self, what: impl Into<String>, time: Millis) -> Self {
        self.blocks
            .push(Block::Line(vec![Cell::Until(what.into(), time)]));
        self
    }

    /// Adds one thread on a line.
    pub fn thread_line(mut self, thread: &Thread) -> Self {
        let cells = [
            thread.thread_id.to_string(),
            thread.status.to_string(),
            thread.assigned_to.clone(),
            thread.subject.clone(),
        ];
        self.blocks
            .push(Block::Line(cells.into_iter().map(Cell::Text).collect()));
        self
    }

    /// Adds threads as a table.
    pub fn threads(mut self, threads: &[Thread]) -> Self {
        if threads.is_empty() {
            return self.line("no threads".to_owned());
        }
        let rows = threads
            .iter()
            .map(|thread| {
                vec![
                    Cell::Text(thread.thread_id.to_string()),
                    Cell::Text(thread.status.to_string()),
                    Cell::Text(thread.priority.to_string()),
                    Cell::Text(thread.assigned_to.clone()),
                    Cell::Text(thread.created_by.to_string()),
                    Cell::Time(thread.updated_at),
                    Cell::Text(thread.subject.clone()),
                ]
            })
            .collect();
        let headings = vec![
            "THREAD",
            "STATUS",
            "PRIORITY",
            "ASSIGNED TO",
            "FROM",
            "UPDATED",
            "SUBJECT",
        ];
        self.blocks.push(Block::Table { headings, rows });
        self
    }

    /// Adds events as a table.
    pub fn events(mut self, events: &[Event]) -> Self {
        if events.is_empty() {
            return self.line("nothing happened".to_owned());
        }
        let rows = events
            .iter()
            .map(|event| {
                vec![
                    Cell::Text(event.event_id.to_string()),
                    Cell::Text(event.thread_id.to_string()),
                    Cell::Text(event.event_type.to_string()),
                    Cell::Text(event.source.to_string()),
                    Cell::Time(event.created_at),
                    Cell::Text(event.summary.clone()),
                ]
            })
            .collect();
        self.blocks.push(Block::Table {
            headings: Vec::new(),
            rows,
        });
        self
    }

    /// Adds one message: who, what, when, and its text.
    pub fn message(mut self, message: &Message) -> Self {
        let trust = if message.verified {
            ""
        } else {
            " (unverified)"
        };
        self.blocks.push(Block::Line(vec![
            Cell::Text(format!(
                "{} {}{trust} {}:",
                message.message_id, message.from_agent, message.kind
            )),
            Cell::Text(message.summary.clone()),
            Cell::Time(message.created_at),
        ]));
        if !message.body.is_empty() {
            let indented: Vec<_> = message
                .body
                .trim_end()
                .lines()
                .map(|line| format!("  {line}"))
                .collect();
            self.blocks.push(Block::Text(indented.join("\n")));
        }
        if message
            .payload_json
            .as_object()
            .is_none_or(|payload| !payload.is_empty())
        {
            self.blocks
                .push(Block::Text(format!("  {}", message.payload_json)));
        }
        self
    }
}
