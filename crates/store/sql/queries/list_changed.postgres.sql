-- differs: PostgreSQL would begin with all threads where a filter on them may be none; the offset has it look each up.
SELECT v.*, c.latest_event
  FROM (SELECT l.thread_no, MAX(l.event_id) AS latest_event FROM log l WHERE l.event_id > $3 GROUP BY l.thread_no) c
 CROSS JOIN LATERAL (SELECT * FROM thread_rows r WHERE r.thread_no = c.thread_no OFFSET 0) v
 WHERE ($4 & (1 << v.status)) <> 0
   AND (CAST($5 AS TEXT) IS NULL OR v.creator_no = (SELECT a.agent_no FROM agents a WHERE a.name = $5))
   AND (CAST($6 AS TEXT) IS NULL OR COALESCE(v.holder, v.to_first) = $6)
   AND (CAST($7 AS TEXT) IS NULL OR v.run_id = $7)
   AND (CAST($8 AS TEXT) IS NULL OR v.task_id = $8)
   AND (CAST($1 AS TEXT) IS NULL OR v.creator_no = (SELECT a.agent_no FROM agents a WHERE a.name = $1)
        OR v.holder_no = (SELECT a.agent_no FROM agents a WHERE a.name = $1)
        OR v.thread_no IN (SELECT r.thread_no FROM recipients r WHERE r.address_no IN (SELECT address_no FROM reach)))
 ORDER BY c.latest_event
 LIMIT $9
