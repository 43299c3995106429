-- differs: SQLite cannot alter a CHECK, so the two that grow are rewritten in the schema's own text, which
-- changes nothing on disk; tables without a rowid save a second tree; JSON and UUIDs are text.

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'mode BETWEEN 1 AND 4', 'mode BETWEEN 1 AND 8')
 WHERE type = 'table' AND name = 'addresses';
UPDATE sqlite_schema SET sql = replace(sql, 'event_type BETWEEN 1 AND 10', 'event_type BETWEEN 1 AND 20')
 WHERE type = 'table' AND name = 'entries';
PRAGMA writable_schema = RESET;

-- As plain SQL clients know it.
UPDATE addresses SET address = 'ALL' WHERE mode = 4;

-- A bare name that nobody has yet stays open (8) for the agent or role that first takes it.
UPDATE addresses SET mode = 8 WHERE mode = 1 AND address NOT IN (SELECT name FROM agents);

ALTER TABLE agents ADD COLUMN seen_at BIGINT;
ALTER TABLE agents ADD COLUMN last_read BIGINT; -- the newest message it has read: what it says next follows from it
ALTER TABLE agents ADD COLUMN last_read_at BIGINT;
ALTER TABLE agents ADD COLUMN removed_at BIGINT;
ALTER TABLE agents ADD COLUMN title TEXT;
ALTER TABLE agents ADD COLUMN account_id TEXT;
ALTER TABLE agents ADD COLUMN inbound_topic_id TEXT;
ALTER TABLE agents ADD COLUMN outbound_topic_id TEXT;
ALTER TABLE agents ADD COLUMN persona TEXT;
ALTER TABLE agents ADD COLUMN card TEXT;

-- One living instance of an agent. `address_no` is the session's own address.
CREATE TABLE sessions (
    session_no INTEGER NOT NULL PRIMARY KEY,
    agent_no   BIGINT NOT NULL REFERENCES agents (agent_no),
    address_no BIGINT NOT NULL UNIQUE REFERENCES addresses (address_no),
    session_id TEXT NOT NULL,
    state      SMALLINT NOT NULL CHECK (state BETWEEN 1 AND 3),
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL,
    changed_at BIGINT NOT NULL, -- when it was frozen, resumed or ended
    client     TEXT
);

-- Which addresses reach a session: its own, its roles, its tags and all.
CREATE TABLE memberships (
    session_no BIGINT NOT NULL REFERENCES sessions (session_no),
    address_no BIGINT NOT NULL REFERENCES addresses (address_no),
    PRIMARY KEY (session_no, address_no)
) WITHOUT ROWID;
CREATE INDEX memberships_by_address ON memberships (address_no);

-- Who a thread is addressed to; written with the thread, so no foreign key is looked up. `queue` is 1 while it is pending work and 2 while it is held: the partial
-- indexes are the order in which claims take what is free, and what a dead worker left.
CREATE TABLE recipients_new (
    address_no BIGINT NOT NULL,
    thread_no  BIGINT NOT NULL,
    priority   SMALLINT NOT NULL,
    queue      SMALLINT NOT NULL CHECK (queue BETWEEN 0 AND 2),
    expires_at BIGINT,
    PRIMARY KEY (address_no, thread_no)
) WITHOUT ROWID;
INSERT INTO recipients_new (address_no, thread_no, priority, queue, expires_at)
SELECT r.address_no, r.thread_no, r.priority,
       CASE WHEN r.is_queued = 1 THEN 1 WHEN t.opened_by_kind = 1 AND t.status IN (2, 3, 4) THEN 2 ELSE 0 END, t.expires_at
  FROM recipients r JOIN threads t ON t.thread_no = r.thread_no;
DROP TABLE recipients;
ALTER TABLE recipients_new RENAME TO recipients;
CREATE INDEX recipients_queued ON recipients (address_no, priority, thread_no) WHERE queue = 1;
CREATE INDEX recipients_held ON recipients (address_no, priority, thread_no) WHERE queue = 2;
DROP INDEX threads_by_lease;

ALTER TABLE threads ADD COLUMN turns BIGINT NOT NULL DEFAULT 0; -- changes of speaker since a person spoke
CREATE INDEX threads_by_ref ON threads (ref_id) WHERE ref_id IS NOT NULL;

ALTER TABLE entries ADD COLUMN priority SMALLINT CHECK (priority BETWEEN 1 AND 5); -- where it differs from the thread's
ALTER TABLE entries ADD COLUMN hops BIGINT;
ALTER TABLE entries ADD COLUMN uid TEXT; -- only of what came with one
CREATE INDEX entries_by_source ON entries (source_no, created_at);
CREATE UNIQUE INDEX entries_by_uid ON entries (uid) WHERE uid IS NOT NULL;

-- What is in the inbox of an address, in the order of events, what is acknowledged apart from the rest.
-- `is_acked` says that somebody acknowledged it; of a tag's mail, each reader still does so for itself.
-- Written with the entry that it names, so no foreign key is looked up.
CREATE TABLE deliveries (
    address_no BIGINT NOT NULL,
    is_acked   SMALLINT NOT NULL CHECK (is_acked IN (0, 1)),
    entry_no   BIGINT NOT NULL,
    expires_at BIGINT,
    PRIMARY KEY (address_no, is_acked, entry_no)
) WITHOUT ROWID;
CREATE INDEX deliveries_by_entry ON deliveries (entry_no);
CREATE INDEX deliveries_by_expiry ON deliveries (expires_at) WHERE expires_at IS NOT NULL AND is_acked = 0;
WITH RECURSIVE list (entry_no, expires_at, word, rest) AS (
    SELECT e.entry_no, e.expires_at, '', COALESCE(e.to_list, a.address) || ' '
      FROM entries e JOIN addresses a ON a.address_no = e.to_no
     WHERE e.kind IS NOT NULL
    UNION ALL
    SELECT entry_no, expires_at, substr(rest, 1, instr(rest, ' ') - 1), substr(rest, instr(rest, ' ') + 1) FROM list WHERE rest <> ''
)
INSERT OR IGNORE INTO deliveries (address_no, is_acked, entry_no, expires_at)
SELECT a.address_no, 0, l.entry_no, l.expires_at FROM list l JOIN addresses a ON lower(a.address) = l.word;

-- The steps of a message towards those it reaches. Append-only. An acknowledgement is for an address; where
-- that has one owner (an agent, a session, a role), there is one. Others have 0 there.
DROP TABLE receipts;
CREATE TABLE receipts (
    entry_no   BIGINT NOT NULL REFERENCES entries (entry_no),
    step       SMALLINT NOT NULL CHECK (step BETWEEN 1 AND 4),
    address_no BIGINT NOT NULL,
    agent_no   BIGINT NOT NULL REFERENCES agents (agent_no),
    session_no BIGINT NOT NULL, -- 0 when the reader has none
    created_at BIGINT NOT NULL,
    session    TEXT,
    PRIMARY KEY (entry_no, step, address_no, agent_no, session_no)
) WITHOUT ROWID;

-- How far a reader has read an address: nothing up to there concerns it any more.
CREATE TABLE bookmarks (
    agent_no   BIGINT NOT NULL REFERENCES agents (agent_no),
    session_no BIGINT NOT NULL,
    address_no BIGINT NOT NULL REFERENCES addresses (address_no),
    read_to    BIGINT NOT NULL,
    PRIMARY KEY (agent_no, session_no, address_no)
) WITHOUT ROWID;

-- What plain SQL clients wrote to the view `inbox`, until the next operation takes it in by the rules.
-- What was refused stays, with the reason.
CREATE TABLE intake (
    intake_no    INTEGER NOT NULL PRIMARY KEY,
    uid          TEXT NOT NULL,
    is_ack       SMALLINT NOT NULL,
    to_agent     TEXT,
    from_agent   TEXT,
    message_type TEXT,
    subject      TEXT,
    payload      TEXT,
    context      TEXT,
    ref_id       TEXT,
    ref_type     TEXT,
    priority     TEXT,
    session      TEXT,
    written_at   TEXT,
    refusal      TEXT
);

-- The table of the agents' first inbox, as a view with its columns. Every process parses its text, so it is short:
-- words are cut out of one text by their numbers.
CREATE VIEW inbox AS
SELECT COALESCE(e.uid, printf('%08x-%04x-7%03x-%04x-%012x', e.created_at >> 16, e.created_at & 65535,
       ((e.uid_random >> 62 & 3) << 10) | (e.entry_no & 1023), 32768 | (e.uid_random >> 48 & 16383), e.uid_random & 281474976710655)) id,
       d.address to_agent, a.name from_agent,
       COALESCE(e.message_type, rtrim(substr('task    progressquestionanswer  result  control event', e.kind * 8 - 7, 8))) message_type,
       CASE e.event_type WHEN 1 THEN t.subject ELSE e.summary END subject,
       CASE WHEN e.body IS NULL THEN e.payload ELSE json_insert(COALESCE(e.payload, '{}'), '$.body', e.body) END payload,
       e.context, t.ref_id, rtrim(substr('task   phase  stage  projectagent', t.ref_type * 7 - 6, 7)) ref_type,
       COALESCE(e.priority, t.priority) priority, v.is_acked processed,
       (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', min(r.created_at) / 1e3, 'unixepoch') FROM receipts r
         WHERE r.entry_no = e.entry_no AND r.step = 4 AND r.address_no = v.address_no) processed_at,
       (SELECT r.session FROM receipts r
         WHERE r.entry_no = e.entry_no AND r.step = 4 AND r.address_no = v.address_no) processed_by_session,
       strftime('%Y-%m-%dT%H:%M:%fZ', e.created_at / 1e3, 'unixepoch') created_at
  FROM deliveries v JOIN entries e USING (entry_no) JOIN threads t USING (thread_no) JOIN agents a ON a.agent_no = e.source_no
  JOIN addresses d ON d.address_no = v.address_no
UNION ALL
SELECT uid, to_agent, from_agent, message_type, subject, payload, context, ref_id, ref_type, COALESCE(priority, 3), is_ack = 2, NULL, NULL,
       written_at
  FROM intake WHERE is_ack <> 1 AND refusal IS NULL;

CREATE TRIGGER inbox_insert INSTEAD OF INSERT ON inbox BEGIN
    INSERT INTO intake VALUES (NULL, lower(COALESCE(NEW.id, printf('%s-%s-4%.3s-a%.3s-%s', hex(randomblob(4)), hex(randomblob(2)),
        hex(randomblob(2)), hex(randomblob(2)), hex(randomblob(6))))), COALESCE(NEW.processed, 0) * 2, NEW.to_agent, NEW.from_agent,
        NEW.message_type, NEW.subject, NEW.payload, NEW.context, NEW.ref_id, NEW.ref_type, NEW.priority, NEW.processed_by_session,
        COALESCE(NEW.created_at, strftime('%Y-%m-%dT%H:%M:%fZ')), NULL);
END;
CREATE TRIGGER inbox_update INSTEAD OF UPDATE ON inbox BEGIN
    SELECT RAISE(ABORT, 'a message of inbox can be set to processed, and is not changed otherwise')
     WHERE NEW.processed IS NOT 1
        OR (NEW.id, NEW.to_agent, NEW.from_agent, NEW.message_type, NEW.subject, NEW.payload, NEW.context, NEW.ref_id, NEW.ref_type,
            NEW.priority, NEW.created_at)
           IS NOT (OLD.id, OLD.to_agent, OLD.from_agent, OLD.message_type, OLD.subject, OLD.payload, OLD.context, OLD.ref_id, OLD.ref_type,
                   OLD.priority, OLD.created_at);
    INSERT INTO intake (uid, is_ack, to_agent, session, written_at)
    SELECT OLD.id, 1, OLD.to_agent, NEW.processed_by_session, strftime('%Y-%m-%dT%H:%M:%fZ') WHERE OLD.processed = 0;
    UPDATE deliveries SET is_acked = 1
     WHERE is_acked = 0 AND address_no = (SELECT address_no FROM addresses WHERE address = OLD.to_agent)
       AND entry_no IN (SELECT e.entry_no FROM entries e JOIN agents a ON a.agent_no = e.source_no
                         WHERE a.name = OLD.from_agent AND e.created_at = round((julianday(OLD.created_at) - 2440587.5) * 864e5)
                           AND (e.uid = OLD.id OR printf('%012x', e.uid_random & 281474976710655) = substr(OLD.id, 25)));
END;
