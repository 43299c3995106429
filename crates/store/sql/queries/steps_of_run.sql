-- The same of the threads of one run ($2).
SELECT l.thread_no, l.event_type, l.status, l.created_at
  FROM log l
 WHERE l.event_id > $1 AND l.event_type NOT IN (4, 11, 12, 13)
   AND l.thread_no IN (SELECT t.thread_no FROM threads t WHERE t.run_id = $2)
 ORDER BY l.event_id
 LIMIT $3
