-- differs: PostgreSQL counts keys in sequences, and has rights to take back.

-- What is said on a topic that is not the message's own Wire, or is that Wire as it was when it began to be written into a file: `content` is
-- what, `uid` is what it is known by when it is found there. `file` is how far its file has come: `begun`, `0.0.5 2 5f0c…`, or `0.0.5` when it is
-- whole.
ALTER TABLE outbox ADD COLUMN uid TEXT;
ALTER TABLE outbox ADD COLUMN content TEXT;
CREATE INDEX outbox_by_uid ON outbox (uid) WHERE uid IS NOT NULL;

-- The last message that was judged: what stands after it on the topic is new, also where an unfinished one before it holds up `sequence`.
ALTER TABLE topics ADD COLUMN taken BIGINT NOT NULL DEFAULT 0;
UPDATE topics SET taken = (SELECT COALESCE(MAX(r.sequence), 0) FROM records r WHERE r.topic_no = topics.topic_no);

-- Who moves messages now: the topics are divided between those that are here until `until`.
CREATE TABLE bridges (
    name  TEXT NOT NULL PRIMARY KEY,
    until BIGINT NOT NULL
) WITHOUT ROWID;

-- Who an account is, is asked for each message.
CREATE INDEX agents_by_account ON agents (account_id) WHERE account_id IS NOT NULL;

-- How many messages of one payer on one topic counted for nothing: the first are kept, and the others are counted.
CREATE TABLE floods (
    topic_no BIGINT NOT NULL REFERENCES topics (topic_no),
    payer    TEXT NOT NULL,
    count    BIGINT NOT NULL,
    PRIMARY KEY (topic_no, payer)
) WITHOUT ROWID;

-- Whom the agents here are connected with on the ledger, or may be: each request has one row for each agent of this store that it concerns.
-- `step` is what is being done there, and `step_id` its transaction, written down before it is sent. `rev` is compared and counted on by
-- every change, so that two bridges do not both go on from one row.
CREATE TABLE connections (
    connection_no INTEGER NOT NULL PRIMARY KEY,
    agent_no      BIGINT NOT NULL REFERENCES agents (agent_no),
    inbound       TEXT NOT NULL,
    request       BIGINT NOT NULL,
    role          SMALLINT NOT NULL,
    state         SMALLINT NOT NULL,
    other         TEXT NOT NULL,
    other_inbound TEXT,
    other_name    TEXT,
    memo          TEXT,
    topic         TEXT,
    confirmed     BIGINT,
    reached       BIGINT NOT NULL,
    thread_no     BIGINT,
    question_no   BIGINT,
    step          TEXT,
    step_id       TEXT,
    decided_by    TEXT,
    reason        TEXT,
    tries         BIGINT NOT NULL,
    next_at       BIGINT NOT NULL,
    problem       TEXT,
    rev           BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    UNIQUE (agent_no, inbound, request)
);
CREATE INDEX connections_by_topic ON connections (topic) WHERE topic IS NOT NULL;
CREATE INDEX connections_by_other ON connections (agent_no, other);
CREATE INDEX connections_by_thread ON connections (thread_no) WHERE thread_no IS NOT NULL;
CREATE INDEX connections_by_question ON connections (question_no) WHERE question_no IS NOT NULL;

-- Transactions that a party of a connection wants signed. `does` is what each would do by the network's own bytes, a line for each thing;
-- `said` is what the proposer says of it.
CREATE TABLE proposals (
    proposal_no   INTEGER NOT NULL PRIMARY KEY,
    connection_no BIGINT NOT NULL REFERENCES connections (connection_no),
    sequence      BIGINT NOT NULL,
    schedule      TEXT NOT NULL,
    proposer      TEXT NOT NULL,
    said          TEXT NOT NULL,
    state         SMALLINT NOT NULL,
    sort          TEXT,
    amount        BIGINT,
    does          TEXT,
    thread_no     BIGINT,
    step_id       TEXT,
    decided_by    TEXT,
    reason        TEXT,
    tries         BIGINT NOT NULL,
    next_at       BIGINT NOT NULL,
    problem       TEXT,
    rev           BIGINT NOT NULL,
    created_at    BIGINT NOT NULL,
    UNIQUE (connection_no, sequence)
);
CREATE INDEX proposals_by_thread ON proposals (thread_no) WHERE thread_no IS NOT NULL;
