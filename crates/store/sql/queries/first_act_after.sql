-- What an agent first did in a thread after a message reached it, other than acknowledging it.
SELECT MIN(l.event_id), MIN(l.created_at) FROM log l
 WHERE l.thread_no = $1 AND l.event_id > $2 AND l.source_no = $3 AND l.event_type <> 11
   AND NOT (l.event_type = 8 AND l.kind IS NULL)
