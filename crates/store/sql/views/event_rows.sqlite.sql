-- differs: SQLite begins with what is new, and has no LATERAL.
SELECT l.event_id, COALESCE(l.message_no, l.entry_no) AS message_no, l.thread_no, l.event_type, l.status,
       (SELECT a.name FROM agents a WHERE a.agent_no = l.source_no) AS source,
       l.created_at, l.epoch, l.lease_until, l.is_override, l.kind, l.summary,
       t.run_id, t.task_id, l.source_no, t.creator_no, t.holder_no, l.entry_no
  FROM log l
  JOIN threads t ON t.thread_no = l.thread_no
