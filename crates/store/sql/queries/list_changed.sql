-- differs: SQLite is told by a sign what to begin with, and has no LATERAL.
-- Threads with an event after a cursor, those that changed longest ago first, so that a page that is
-- cut short can go on where it ended. Filters as in list_threads. The sign has SQLite read what is new, and not all in the order of
-- threads.
SELECT v.*, c.latest_event FROM thread_rows v
  JOIN (SELECT +l.thread_no AS thread_no, MAX(l.event_id) AS latest_event FROM log l WHERE l.event_id > $3 GROUP BY +l.thread_no) c
    ON c.thread_no = v.thread_no
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
