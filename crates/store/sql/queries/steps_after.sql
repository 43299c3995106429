-- What happened after an event ($1), in numbers alone; renewals and receipts do not count.
SELECT l.thread_no, l.event_type, l.status, l.created_at
  FROM log l
 WHERE l.event_id > $1 AND l.event_type NOT IN (4, 11, 12, 13)
 ORDER BY l.event_id
 LIMIT $2
