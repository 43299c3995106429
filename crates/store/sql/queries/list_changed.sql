-- Threads with an event after a cursor, those that changed longest ago first, so that a page that is
-- cut short can go on where it ended. Filters as in list_threads.
SELECT v.*, c.latest_event FROM thread_rows v
  JOIN (SELECT l.thread_no, MAX(l.event_id) AS latest_event FROM log l WHERE l.event_id > $1 GROUP BY l.thread_no) c
    ON c.thread_no = v.thread_no
 WHERE ($2 & (1 << v.status)) <> 0
   AND (CAST($3 AS TEXT) IS NULL OR v.creator = $3)
   AND (CAST($4 AS TEXT) IS NULL OR COALESCE(v.holder, v.to_first) = $4)
   AND (CAST($5 AS TEXT) IS NULL OR v.run_id = $5)
   AND (CAST($6 AS TEXT) IS NULL OR v.task_id = $6)
   AND (CAST($7 AS TEXT) IS NULL OR v.creator = $7 OR v.holder = $7
        OR EXISTS (SELECT 1 FROM recipients r JOIN addresses a ON a.address_no = r.address_no
                    WHERE a.address = $7 AND r.thread_no = v.thread_no))
 ORDER BY c.latest_event
 LIMIT $8
