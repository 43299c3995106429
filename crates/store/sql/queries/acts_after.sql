-- When each agent first did something in a thread after a message reached it, other than acknowledging it.
SELECT a.name, MIN(l.created_at) FROM log l JOIN agents a ON a.agent_no = l.source_no
 WHERE l.thread_no = $1 AND l.event_id > $2 AND l.event_type <> 11
   AND NOT (l.event_type = 8 AND l.kind IS NULL)
 GROUP BY a.name
