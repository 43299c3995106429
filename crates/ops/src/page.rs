//! An answer for people and for models: a few blocks that a surface lays out for its reader.

use inbox_core::record::Millis;
use inbox_core::{Agent, Event, Message, Priority, Session, SessionState, Thread};

use crate::glance::Header;

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
    /// Shown to a person. A model pays for each word, and has just written this or can ask for it.
    Aside(Box<Cell>),
}

impl Cell {
    fn aside(text: String) -> Self {
        Cell::Aside(Box::new(Cell::Text(text)))
    }
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

    /// Adds a table.
    pub fn table(mut self, headings: Vec<&'static str>, rows: Vec<Vec<Cell>>) -> Self {
        self.blocks.push(Block::Table { headings, rows });
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

    /// Adds what became of a thread, for who has just done it.
    pub fn outcome(mut self, thread: &Thread) -> Self {
        self.blocks.push(Block::Line(vec![
            Cell::Text(thread.thread_id.to_string()),
            Cell::Text(thread.status.to_string()),
            Cell::aside(thread.assigned_to.clone()),
            Cell::aside(thread.subject.clone()),
        ]));
        self
    }

    /// Adds a message's header; people also see its thread and its age.
    pub fn header(mut self, header: &Header) -> Self {
        self.blocks.push(Block::Line(vec![
            Cell::Text(header.line()),
            Cell::aside(header.thread_id.to_string()),
            Cell::Aside(Box::new(Cell::Time(header.created_at))),
        ]));
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

    /// Adds one message of an inbox: which thread it is in, whom it is for and how urgent it is, besides.
    pub fn mail(mut self, message: &Message) -> Self {
        let to: Vec<_> = message.to.iter().map(ToString::to_string).collect();
        let urgency = match message.priority {
            Priority::Normal => String::new(),
            priority => format!("  {priority}"),
        };
        self.blocks.push(Block::Line(vec![Cell::Text(format!(
            "{} → {}{urgency}",
            message.thread_id,
            to.join(", ")
        ))]));
        self.message(message)
    }

    /// Adds agents as a table.
    pub fn agents(mut self, agents: &[Agent]) -> Self {
        if agents.is_empty() {
            return self.line("no agents".to_owned());
        }
        let rows = agents.iter().map(|agent| {
            let labels: Vec<_> = agent
                .roles
                .iter()
                .map(|role| format!("role:{role}"))
                .chain(agent.tags.iter().cloned())
                .collect();
            vec![
                Cell::Text(agent.agent_id.to_string()),
                Cell::Text(agent.kind.to_string()),
                Cell::Text(agent.state.map_or("-", SessionState::name).to_owned()),
                agent
                    .seen_at
                    .map_or(Cell::Text("never".to_owned()), Cell::Time),
                Cell::Text(labels.join(" ")),
                Cell::Text(agent.name.clone()),
            ]
        });
        let rows = rows.collect();
        let headings = vec!["AGENT", "KIND", "STATE", "SEEN", "ROLES AND TAGS", "NAME"];
        self.blocks.push(Block::Table { headings, rows });
        self
    }

    /// Adds sessions as a table.
    pub fn sessions(mut self, sessions: &[Session]) -> Self {
        if sessions.is_empty() {
            return self.line("no sessions".to_owned());
        }
        let rows = sessions.iter().map(|session| {
            let labels: Vec<_> = session
                .roles
                .iter()
                .map(|role| format!("role:{role}"))
                .chain(session.tags.iter().cloned())
                .collect();
            vec![
                Cell::Text(session.session_id.to_string()),
                Cell::Text(session.agent_id.to_string()),
                Cell::Text(session.state.to_string()),
                Cell::Time(session.seen_at),
                Cell::Text(labels.join(" ")),
                Cell::Text(session.client.clone().unwrap_or_default()),
            ]
        });
        let rows = rows.collect();
        let headings = vec![
            "SESSION",
            "AGENT",
            "STATE",
            "SEEN",
            "ROLES AND TAGS",
            "CLIENT",
        ];
        self.blocks.push(Block::Table { headings, rows });
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
        if !message.body.is_empty() && message.body.trim() != message.summary {
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
