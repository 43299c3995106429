-- The order in which claims take pending work.
CREATE INDEX recipients_queued ON recipients (address_no, priority, thread_no) WHERE is_queued = 1;

-- Threads, messages and events as programs see them: names for numbers. The columns' order is what
-- the row readers in Rust go by.
CREATE VIEW thread_rows AS
SELECT t.thread_no, t.version, t.status, t.priority, t.opened_by_kind, t.attempts, t.epoch,
       (SELECT a.name FROM agents a WHERE a.agent_no = t.creator_no) AS creator,
       (SELECT d.address FROM addresses d WHERE d.address_no = t.to_no) AS to_first,
       t.to_list,
       (SELECT a.name FROM agents a WHERE a.agent_no = t.holder_no) AS holder,
       t.holder_session, t.lease_secret, t.lease_ms, t.claimed_at, t.lease_until,
       t.latest_message, t.created_at, t.updated_at, t.expires_at,
       t.ref_type, t.ref_id, t.run_id, t.task_id, t.subject,
       t.creator_no, t.holder_no, t.to_no
  FROM threads t;

CREATE VIEW message_rows AS
SELECT l.entry_no, l.event_id, l.thread_no,
       (SELECT a.name FROM agents a WHERE a.agent_no = l.source_no) AS source,
       l.source_session, l.created_at, l.kind,
       (SELECT d.address FROM addresses d WHERE d.address_no = l.to_no) AS to_first,
       l.to_list, l.auth, l.uid_random, l.parent_no, l.expires_at, l.message_type,
       l.summary, l.body, l.payload, l.context, l.source_no
  FROM log l
 WHERE l.kind IS NOT NULL;

CREATE VIEW event_rows AS
SELECT l.event_id, l.entry_no, l.thread_no, l.event_type, l.status,
       (SELECT a.name FROM agents a WHERE a.agent_no = l.source_no) AS source,
       l.created_at, l.epoch, l.lease_until, l.is_override, l.kind, l.summary,
       t.run_id, t.task_id, l.source_no, t.creator_no, t.holder_no
  FROM log l
  JOIN threads t ON t.thread_no = l.thread_no;
