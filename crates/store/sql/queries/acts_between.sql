-- What agents did in a thread ($1) after an event ($2) and up to another ($3), as acts_after counts it.
SELECT l.event_id, a.name, l.created_at FROM log l JOIN agents a ON a.agent_no = l.source_no
 WHERE l.thread_no = $1 AND l.event_id > $2 AND l.event_id <= $3 AND l.event_type <> 11
   AND NOT (l.event_type = 8 AND l.kind IS NULL)
