-- When the first event from a number on happened.
SELECT l.created_at FROM log l WHERE l.event_id >= $1 ORDER BY l.event_id LIMIT 1
