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
