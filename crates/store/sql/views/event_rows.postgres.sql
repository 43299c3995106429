-- differs: PostgreSQL would begin with all threads where a filter on them may be none; the offset has it look each up.
SELECT l.event_id, COALESCE(l.message_no, l.entry_no) AS message_no, l.thread_no, l.event_type, l.status,
       (SELECT a.name FROM agents a WHERE a.agent_no = l.source_no) AS source,
       l.created_at, l.epoch, l.lease_until, l.is_override, l.kind, l.summary,
       t.run_id, t.task_id, l.source_no, t.creator_no, t.holder_no, l.entry_no
  FROM log l
 CROSS JOIN LATERAL (SELECT t.run_id, t.task_id, t.creator_no, t.holder_no FROM threads t WHERE t.thread_no = l.thread_no OFFSET 0) t
