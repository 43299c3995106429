-- differs: PostgreSQL counts keys in sequences, and has rights to take back.

-- By what a person is told of mail outside of the store, for each person: a program on a desktop, a URL, a command. `seen` is the event up to which mail
-- was looked at, `summed` and `summed_at` are how far and when the rest was last summed up. `tries` counts how often it failed since it last
-- worked; before `next_at` it is not tried again.
CREATE TABLE reaches (
    reach_no   INTEGER NOT NULL PRIMARY KEY,
    person     TEXT NOT NULL,
    name       TEXT NOT NULL,
    seen       BIGINT NOT NULL,
    summed     BIGINT NOT NULL,
    summed_at  BIGINT NOT NULL,
    sent       BIGINT NOT NULL,
    sent_at    BIGINT,
    tries      BIGINT NOT NULL,
    next_at    BIGINT NOT NULL,
    problem    TEXT,
    problem_at BIGINT,
    UNIQUE (person, name)
);

-- What is told by it, each once. While one is being sent, `next_at` is when another may take it over. `message` is the number in a message's id; what
-- sums up has none, and `since` is the event after which it begins.
CREATE TABLE notices (
    notice_no  INTEGER NOT NULL PRIMARY KEY,
    reach_no   BIGINT NOT NULL REFERENCES reaches (reach_no),
    uid        TEXT NOT NULL,
    sort       SMALLINT NOT NULL,
    message    BIGINT,
    since      BIGINT NOT NULL,
    state      SMALLINT NOT NULL,
    tries      BIGINT NOT NULL,
    next_at    BIGINT NOT NULL,
    problem    TEXT,
    created_at BIGINT NOT NULL,
    done_at    BIGINT,
    UNIQUE (reach_no, uid)
);
CREATE INDEX notices_due ON notices (reach_no, state, next_at);
CREATE INDEX notices_by_time ON notices (reach_no, created_at);
