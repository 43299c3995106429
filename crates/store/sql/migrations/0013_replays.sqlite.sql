-- differs: PostgreSQL refers to nothing since the fifth step.

-- What a keyed command answered is remembered on a store without any entry too: then its entry is 0.
CREATE TABLE replays_of_any (
    agent_no   BIGINT NOT NULL REFERENCES agents (agent_no),
    key        TEXT NOT NULL,
    digest     TEXT NOT NULL,
    entry_no   BIGINT NOT NULL,
    answer     TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (agent_no, key)
) WITHOUT ROWID;
INSERT INTO replays_of_any SELECT agent_no, key, digest, entry_no, answer, created_at FROM replays;
DROP TABLE replays;
ALTER TABLE replays_of_any RENAME TO replays;

-- The sessions of one agent, for its page and for those who look whom to wake.
CREATE INDEX sessions_by_agent ON sessions (agent_no);
