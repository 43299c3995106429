-- The oldest messages after an event, with what a search goes by; of each long text the first $1 characters.
SELECT m.event_id, m.created_at, m.uid_random, m.kind, m.source, m.to_first, m.to_list, t.run_id, t.task_id, t.subject,
       m.summary, SUBSTR(m.body, 1, CAST($1 AS INTEGER)), SUBSTR(m.payload, 1, CAST($1 AS INTEGER))
  FROM message_rows m JOIN threads t ON t.thread_no = m.thread_no
 WHERE m.event_id > $2
 ORDER BY m.event_id
 LIMIT $3
