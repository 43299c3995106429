-- differs: PostgreSQL has one place for everything; SQLite's search index is a file beside the store.

-- The words of messages, filled behind `search_progress`. A block is a run of events, and each message is
-- in one of each size, so that a search can ask for the newest ones first. `is_long` is 1 when PostgreSQL does not keep every place of a word.
CREATE TABLE search_index (
    event_id BIGINT NOT NULL PRIMARY KEY,
    blocks   BIGINT[] NOT NULL,
    is_long  SMALLINT NOT NULL,
    words    TSVECTOR NOT NULL
);

-- The list of what is to be sorted in later is kept short, because each search has to read it (in kB).
CREATE INDEX search_index_words ON search_index USING gin (words, blocks) WITH (gin_pending_list_limit = 128);

-- Which events had messages on which day, because times order nothing.
CREATE TABLE search_days (
    day         BIGINT NOT NULL PRIMARY KEY,
    first_event BIGINT NOT NULL,
    last_event  BIGINT NOT NULL
);

-- By which rules texts became words, and up to which event.
CREATE TABLE search_progress (
    id        SMALLINT NOT NULL PRIMARY KEY CHECK (id = 1),
    rules     BIGINT NOT NULL,
    through   BIGINT NOT NULL,
    documents BIGINT NOT NULL
);

-- Which archives are indexed, and a stamp of what they were then.
CREATE TABLE search_archives (
    month TEXT NOT NULL PRIMARY KEY,
    stamp TEXT NOT NULL
);

-- Messages that are in archives, whole, with their words. The key is the month and the place in it, so
-- that its order is theirs.
CREATE TABLE search_archived (
    archived_no BIGINT NOT NULL PRIMARY KEY,
    line        TEXT NOT NULL,
    is_long     SMALLINT NOT NULL,
    words       TSVECTOR NOT NULL
);

CREATE INDEX search_archived_words ON search_archived USING gin (words) WITH (gin_pending_list_limit = 128);
