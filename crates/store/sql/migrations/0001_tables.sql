-- The tables of the store. Keys are integers; the public id of a row is its key in base32 behind a
-- prefix. Times are milliseconds since 1970 in the database's clock, and order nothing.
-- Words (status, kind, …) are the numbers of inbox-core's vocabularies.

CREATE TABLE meta (
    name  TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
);

CREATE TABLE agents (
    agent_no   INTEGER NOT NULL PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    kind       SMALLINT NOT NULL CHECK (kind BETWEEN 1 AND 3),
    created_at BIGINT NOT NULL
);

CREATE TABLE addresses (
    address_no INTEGER NOT NULL PRIMARY KEY,
    mode       SMALLINT NOT NULL CHECK (mode BETWEEN 1 AND 4),
    address    TEXT NOT NULL UNIQUE
);

-- The lease is in the thread's row, so that a claim is one compare-and-set of one row. `holder_no`,
-- `epoch` and `lease_secret` outlive the work: they tell who finished it, and fence off the others.
CREATE TABLE threads (
    thread_no      INTEGER NOT NULL PRIMARY KEY,
    version        BIGINT NOT NULL,
    status         SMALLINT NOT NULL CHECK (status BETWEEN 1 AND 7),
    priority       SMALLINT NOT NULL CHECK (priority BETWEEN 1 AND 5),
    opened_by_kind SMALLINT NOT NULL CHECK (opened_by_kind BETWEEN 1 AND 7),
    creator_no     BIGINT NOT NULL REFERENCES agents (agent_no),
    to_no          BIGINT NOT NULL REFERENCES addresses (address_no),
    to_list        TEXT, -- every address, only when there are several
    attempts       BIGINT NOT NULL,
    epoch          BIGINT NOT NULL,
    holder_no      BIGINT REFERENCES agents (agent_no),
    holder_session TEXT,
    lease_secret   BIGINT,
    lease_ms       BIGINT,
    claimed_at     BIGINT,
    lease_until    BIGINT,
    latest_message BIGINT,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL,
    expires_at     BIGINT,
    ref_type       SMALLINT CHECK (ref_type BETWEEN 1 AND 5),
    ref_id         TEXT,
    run_id         TEXT,
    task_id        TEXT,
    subject        TEXT NOT NULL,
    CHECK ((status IN (2, 3, 4)) = (lease_until IS NOT NULL))
);

-- Leases in force or run out: few, so that looking for those that ran out is cheap.
CREATE INDEX threads_by_lease ON threads (lease_until) WHERE lease_until IS NOT NULL;

-- The one ordered log. An entry is an event and, when `kind` is set, the message written with it:
-- one row, because neither exists without the other. Long texts stand last.
CREATE TABLE entries (
    entry_no       INTEGER NOT NULL PRIMARY KEY,
    thread_no      BIGINT NOT NULL REFERENCES threads (thread_no),
    event_type     SMALLINT NOT NULL CHECK (event_type BETWEEN 1 AND 10),
    status         SMALLINT NOT NULL CHECK (status BETWEEN 1 AND 7),
    source_no      BIGINT NOT NULL REFERENCES agents (agent_no),
    source_session TEXT,
    created_at     BIGINT NOT NULL,
    epoch          BIGINT,
    lease_secret   BIGINT,
    lease_until    BIGINT,
    is_override    SMALLINT,
    kind           SMALLINT CHECK (kind BETWEEN 1 AND 7),
    to_no          BIGINT REFERENCES addresses (address_no),
    auth           SMALLINT CHECK (auth BETWEEN 1 AND 3),
    uid_random     BIGINT,
    parent_no      BIGINT,
    expires_at     BIGINT,
    message_type   TEXT,
    to_list        TEXT,
    summary        TEXT,
    body           TEXT,
    payload        TEXT,
    context        TEXT
);

CREATE INDEX entries_by_thread ON entries (thread_no);

CREATE TABLE artifacts (
    artifact_no INTEGER NOT NULL PRIMARY KEY,
    entry_no    BIGINT NOT NULL REFERENCES entries (entry_no),
    path        TEXT NOT NULL,
    kind        TEXT NOT NULL,
    size        BIGINT,
    sha256      TEXT,
    media_type  TEXT,
    created_at  BIGINT NOT NULL
);

CREATE INDEX artifacts_by_entry ON artifacts (entry_no);
