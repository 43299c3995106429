-- differs: SQLite keeps a table without a rowid in the order of its primary key, which saves these
-- small tables a second tree; and its rowid is already the order of commits, so an event's number
-- is its entry's key.

-- Who a thread is addressed to. `is_queued` is 1 while it is pending work: the partial index is the
-- order in which claims take it.
CREATE TABLE recipients (
    address_no BIGINT NOT NULL REFERENCES addresses (address_no),
    thread_no  BIGINT NOT NULL REFERENCES threads (thread_no),
    priority   SMALLINT NOT NULL,
    is_queued  SMALLINT NOT NULL CHECK (is_queued IN (0, 1)),
    PRIMARY KEY (address_no, thread_no)
) WITHOUT ROWID;

CREATE INDEX recipients_queued ON recipients (address_no, priority, thread_no) WHERE is_queued = 1;

-- Who was shown or read a message, and when. Append-only.
CREATE TABLE receipts (
    agent_no   BIGINT NOT NULL REFERENCES agents (agent_no),
    entry_no   BIGINT NOT NULL REFERENCES entries (entry_no),
    step       SMALLINT NOT NULL,
    session    TEXT,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (agent_no, entry_no, step)
) WITHOUT ROWID;

-- What keyed commands answered, so that a retry has one effect.
CREATE TABLE replays (
    agent_no   BIGINT NOT NULL REFERENCES agents (agent_no),
    key        TEXT NOT NULL,
    digest     TEXT NOT NULL,
    entry_no   BIGINT NOT NULL REFERENCES entries (entry_no),
    answer     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (agent_no, key)
) WITHOUT ROWID;
