-- differs: PostgreSQL counts keys in sequences, and has rights to take back.

-- What is said on a topic that is not the message's own Wire: `content` is what, `uid` is what it is known by when it is found there.
ALTER TABLE outbox ADD COLUMN uid TEXT;
ALTER TABLE outbox ADD COLUMN content TEXT;
CREATE INDEX outbox_by_uid ON outbox (uid) WHERE uid IS NOT NULL;
