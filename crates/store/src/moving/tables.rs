//! What a store holds, as data: every table with its columns. A test compares this with both schemas.

/// A table to copy.
#[derive(Debug)]
pub(super) struct Table {
    /// Its name.
    pub(super) name: &'static str,
    /// Its columns, without those that hold the numbers of an entry.
    pub(super) columns: &'static [&'static str],
    /// What tells its rows apart and orders them; [`EVENT`] is the number of the entry's event.
    pub(super) key: &'static [&'static str],
    /// How it has to do with entries.
    pub(super) entry: Entry,
    /// The column that PostgreSQL fills from a sequence.
    pub(super) identity: Option<&'static str>,
    /// Whether both databases order its rows alike: texts have an order of their own in each.
    pub(super) is_ordered: bool,
    /// The rows that are copied; nothing for all.
    pub(super) only: Option<&'static str>,
}

/// How a table has to do with entries, whose keys are not the same in both databases.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entry {
    /// Not at all, or by the number that a message's id is made of, which stays.
    None,
    /// It is the table of entries.
    Own,
    /// It names an entry by its key.
    Named,
    /// It names one that may be gone, or 0 where there was none: then PostgreSQL keeps the number of the event itself, with the other
    /// sign, and SQLite keeps it anyway.
    NamedOrGone,
    /// It names one, and in PostgreSQL the number of its event too.
    NamedWithEvent,
}

/// The number of an entry's event: SQLite's key.
pub(super) const EVENT: &str = "event";

/// The number that a message's id is made of: PostgreSQL's key.
pub(super) const NUMBER: &str = "number";

/// The columns that [`EVENT`] and [`NUMBER`] stand for.
pub(super) const NUMBERS: [&str; 3] = ["entry_no", "event_id", "message_no"];

const PLAIN: Table = Table {
    name: "",
    columns: &[],
    key: &[],
    entry: Entry::None,
    identity: None,
    is_ordered: true,
    only: None,
};

/// Every table, those that others refer to before them.
pub(super) static TABLES: &[Table] = &[
    Table {
        name: "meta",
        columns: &["name", "value"],
        key: &["name"],
        is_ordered: false,
        // What a store says of itself.
        only: Some("t.name NOT IN ('schema_version', 'purpose', 'moving')"),
        ..PLAIN
    },
    Table {
        name: "agents",
        columns: &[
            "agent_no",
            "name",
            "kind",
            "created_at",
            "seen_at",
            "last_read",
            "last_read_at",
            "removed_at",
            "title",
            "account_id",
            "inbound_topic_id",
            "outbound_topic_id",
            "persona",
            "card",
            "seal",
        ],
        key: &["agent_no"],
        identity: Some("agent_no"),
        ..PLAIN
    },
    Table {
        name: "addresses",
        columns: &["address_no", "mode", "address"],
        key: &["address_no"],
        identity: Some("address_no"),
        ..PLAIN
    },
    Table {
        name: "threads",
        columns: &[
            "thread_no",
            "version",
            "status",
            "priority",
            "opened_by_kind",
            "creator_no",
            "to_no",
            "to_list",
            "attempts",
            "epoch",
            "holder_no",
            "holder_session",
            "lease_secret",
            "lease_ms",
            "claimed_at",
            "lease_until",
            "latest_message",
            "created_at",
            "updated_at",
            "expires_at",
            "ref_type",
            "ref_id",
            "run_id",
            "task_id",
            "subject",
            "turns",
        ],
        key: &["thread_no"],
        identity: Some("thread_no"),
        ..PLAIN
    },
    Table {
        name: "recipients",
        columns: &[
            "address_no",
            "thread_no",
            "priority",
            "queue",
            "expires_at",
            "held_until",
        ],
        key: &["address_no", "thread_no"],
        ..PLAIN
    },
    Table {
        name: "sessions",
        columns: &[
            "session_no",
            "agent_no",
            "address_no",
            "session_id",
            "state",
            "started_at",
            "seen_at",
            "changed_at",
            "client",
        ],
        key: &["session_no"],
        identity: Some("session_no"),
        ..PLAIN
    },
    Table {
        name: "memberships",
        columns: &["session_no", "address_no"],
        key: &["session_no", "address_no"],
        ..PLAIN
    },
    Table {
        name: "entries",
        columns: &[
            "thread_no",
            "event_type",
            "status",
            "source_no",
            "source_session",
            "created_at",
            "epoch",
            "lease_secret",
            "lease_until",
            "is_override",
            "kind",
            "to_no",
            "auth",
            "uid_random",
            "parent_no",
            "expires_at",
            "message_type",
            "to_list",
            "summary",
            "body",
            "payload",
            "context",
            "priority",
            "hops",
            "uid",
        ],
        key: &[EVENT],
        entry: Entry::Own,
        identity: Some("entry_no"),
        ..PLAIN
    },
    Table {
        name: "artifacts",
        columns: &[
            "artifact_no",
            "path",
            "kind",
            "size",
            "sha256",
            "media_type",
            "created_at",
        ],
        key: &["artifact_no"],
        entry: Entry::Named,
        identity: Some("artifact_no"),
        ..PLAIN
    },
    Table {
        name: "deliveries",
        columns: &["address_no", "is_acked", "expires_at"],
        key: &[EVENT, "address_no", "is_acked"],
        entry: Entry::NamedWithEvent,
        ..PLAIN
    },
    Table {
        name: "receipts",
        columns: &[
            "step",
            "address_no",
            "agent_no",
            "session_no",
            "created_at",
            "session",
            "door",
        ],
        key: &[EVENT, "step", "address_no", "agent_no", "session_no"],
        entry: Entry::Named,
        ..PLAIN
    },
    Table {
        name: "bookmarks",
        columns: &["agent_no", "session_no", "address_no", "read_to"],
        key: &["agent_no", "session_no", "address_no"],
        ..PLAIN
    },
    Table {
        name: "replays",
        columns: &["agent_no", "key", "digest", "answer", "created_at"],
        key: &["agent_no", "key"],
        entry: Entry::NamedOrGone,
        is_ordered: false,
        ..PLAIN
    },
    Table {
        name: "intake",
        columns: &[
            "intake_no",
            "uid",
            "is_ack",
            "to_agent",
            "from_agent",
            "message_type",
            "subject",
            "payload",
            "context",
            "ref_id",
            "ref_type",
            "priority",
            "session",
            "written_at",
            "refusal",
        ],
        key: &["intake_no"],
        identity: Some("intake_no"),
        ..PLAIN
    },
    Table {
        name: "tokens",
        columns: &[
            "token_id",
            "hash",
            "agent",
            "scopes",
            "label",
            "created_at",
            "expires_at",
            "revoked_at",
            "seen_at",
        ],
        key: &["token_id"],
        ..PLAIN
    },
    Table {
        name: "topics",
        columns: &[
            "topic_no",
            "place",
            "name",
            "agent_no",
            "topic",
            "step_id",
            "sequence",
            "time",
            "hash",
            "bridge",
            "held_until",
            "problem",
            "created_at",
            "taken",
        ],
        key: &["topic_no"],
        identity: Some("topic_no"),
        ..PLAIN
    },
    Table {
        name: "outbox",
        columns: &[
            "outbox_no",
            "topic_no",
            "agent_no",
            "address_no",
            "expires_at",
            "step_id",
            "file",
            "sequence",
            "tries",
            "next_at",
            "problem",
            "created_at",
            "uid",
            "content",
        ],
        key: &["outbox_no"],
        entry: Entry::Named,
        identity: Some("outbox_no"),
        ..PLAIN
    },
    Table {
        name: "records",
        columns: &[
            "topic_no", "sequence", "time", "payer", "hash", "state", "uid", "reason", "content",
        ],
        key: &["topic_no", "sequence"],
        ..PLAIN
    },
    Table {
        name: "bridges",
        columns: &["name", "until"],
        key: &["name"],
        ..PLAIN
    },
    Table {
        name: "floods",
        columns: &["topic_no", "payer", "count"],
        key: &["topic_no", "payer"],
        ..PLAIN
    },
    Table {
        name: "connections",
        columns: &[
            "connection_no",
            "agent_no",
            "inbound",
            "request",
            "role",
            "state",
            "other",
            "other_inbound",
            "other_name",
            "memo",
            "topic",
            "confirmed",
            "reached",
            "thread_no",
            "question_no",
            "step",
            "step_id",
            "decided_by",
            "reason",
            "tries",
            "next_at",
            "problem",
            "rev",
            "created_at",
        ],
        key: &["connection_no"],
        identity: Some("connection_no"),
        ..PLAIN
    },
    Table {
        name: "proposals",
        columns: &[
            "proposal_no",
            "connection_no",
            "sequence",
            "schedule",
            "proposer",
            "said",
            "state",
            "sort",
            "amount",
            "does",
            "thread_no",
            "step_id",
            "decided_by",
            "reason",
            "tries",
            "next_at",
            "problem",
            "rev",
            "created_at",
        ],
        key: &["proposal_no"],
        identity: Some("proposal_no"),
        ..PLAIN
    },
    Table {
        name: "reaches",
        columns: &[
            "reach_no",
            "person",
            "name",
            "seen",
            "summed",
            "summed_at",
            "sent",
            "sent_at",
            "tries",
            "next_at",
            "problem",
            "problem_at",
        ],
        key: &["reach_no"],
        identity: Some("reach_no"),
        ..PLAIN
    },
    Table {
        name: "notices",
        columns: &[
            "notice_no",
            "reach_no",
            "uid",
            "sort",
            "message",
            "since",
            "state",
            "tries",
            "next_at",
            "problem",
            "created_at",
            "done_at",
        ],
        key: &["notice_no"],
        identity: Some("notice_no"),
        ..PLAIN
    },
    Table {
        name: "memories",
        columns: &[
            "memory_no",
            "agent_no",
            "thread_no",
            "text",
            "model",
            "vector",
            "created_at",
            "forgotten_at",
        ],
        key: &["memory_no"],
        identity: Some("memory_no"),
        ..PLAIN
    },
    Table {
        name: "memory_words",
        columns: &["agent_no", "word", "memory_no", "times"],
        key: &["agent_no", "word", "memory_no"],
        ..PLAIN
    },
];

impl Table {
    /// The columns of a row that means the same in both databases.
    pub(super) fn names(&self) -> Vec<&'static str> {
        let numbers: &[&str] = match self.entry {
            Entry::None => &[],
            _ => &[EVENT, NUMBER],
        };
        [numbers, self.columns].concat()
    }

    /// The place of a column in such a row.
    pub(super) fn place(&self, column: &str) -> Option<usize> {
        let numbers = if self.entry == Entry::None { 0 } else { 2 };
        match column {
            EVENT if numbers > 0 => Some(0),
            NUMBER if numbers > 0 => Some(1),
            _ => {
                let place = self.columns.iter().position(|name| *name == column);
                place.map(|place| place + numbers)
            }
        }
    }
}

/// Every table and column that a copy knows, for the test that compares them with the schemas. Those that hold
/// the numbers of an entry are known in each table that has them.
pub fn known_columns() -> Vec<(&'static str, &'static str)> {
    let of = |table: &'static Table| {
        let numbers: &[&'static str] = match table.entry {
            Entry::None => &[],
            Entry::Own => &NUMBERS,
            Entry::Named | Entry::NamedOrGone => &NUMBERS[..1],
            Entry::NamedWithEvent => &NUMBERS[..2],
        };
        let columns = numbers.iter().chain(table.columns);
        columns.map(|column| (table.name, *column))
    };
    TABLES.iter().flat_map(of).collect()
}
