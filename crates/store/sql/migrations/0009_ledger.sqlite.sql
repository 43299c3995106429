-- differs: PostgreSQL counts keys in sequences, and has rights to take back.

-- What the store has to do with on the ledger: each place has one topic, which is made when it is first needed. `step_id` is the
-- transaction that makes it, written down before it is sent. `sequence`, `time` and `hash` are how far it was taken in; `bridge` has it until
-- `held_until`.
CREATE TABLE topics (
    topic_no   INTEGER NOT NULL PRIMARY KEY,
    place      SMALLINT NOT NULL,
    name       TEXT NOT NULL,
    agent_no   BIGINT REFERENCES agents (agent_no),
    topic      TEXT UNIQUE,
    step_id    TEXT,
    sequence   BIGINT NOT NULL,
    time       TEXT,
    hash       TEXT,
    bridge     TEXT,
    held_until BIGINT NOT NULL,
    problem    TEXT,
    created_at BIGINT NOT NULL,
    UNIQUE (place, name)
);

-- What is to be said there: written with the message, gone when the topic has it. `address_no` is where the message waits to be delivered
-- until then; nothing where it was delivered at once.
CREATE TABLE outbox (
    outbox_no  INTEGER NOT NULL PRIMARY KEY,
    topic_no   BIGINT NOT NULL REFERENCES topics (topic_no),
    entry_no   BIGINT NOT NULL REFERENCES entries (entry_no),
    agent_no   BIGINT NOT NULL REFERENCES agents (agent_no),
    address_no BIGINT,
    expires_at BIGINT,
    step_id    TEXT,
    file       TEXT,
    sequence   BIGINT,
    tries      BIGINT NOT NULL,
    next_at    BIGINT NOT NULL,
    problem    TEXT,
    created_at BIGINT NOT NULL
);
CREATE INDEX outbox_by_topic ON outbox (topic_no, outbox_no);
CREATE INDEX outbox_by_entry ON outbox (entry_no);

-- What was found there, each message once: by its UUID the message that it is in the store. `content` is what it says, in base64.
CREATE TABLE records (
    topic_no BIGINT NOT NULL REFERENCES topics (topic_no),
    sequence BIGINT NOT NULL,
    time     TEXT NOT NULL,
    payer    TEXT NOT NULL,
    hash     TEXT NOT NULL,
    state    SMALLINT NOT NULL,
    uid      TEXT,
    reason   TEXT,
    content  TEXT NOT NULL,
    PRIMARY KEY (topic_no, sequence)
) WITHOUT ROWID;
CREATE INDEX records_by_uid ON records (uid) WHERE uid IS NOT NULL;
