-- differs: PostgreSQL runs claims at the same time; each locks its candidate and passes over those that another one has
-- locked, so that they do not queue for the same row. OFFSET 0 keeps the order of the walk: the queue, then each thread.
-- Without a time ($2) it is the server's.
SELECT v.* FROM recipients r
 CROSS JOIN LATERAL (SELECT t.thread_no FROM threads t
                      WHERE t.thread_no = r.thread_no
                        AND (r.expires_at IS NULL OR t.attempts > 0
                             OR r.expires_at > (SELECT COALESCE(CAST($2 AS BIGINT), CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT))))
                        AND (CAST($3 AS TEXT) IS NULL OR t.run_id = $3) AND (CAST($4 AS TEXT) IS NULL OR t.task_id = $4)
                     OFFSET 0 FOR UPDATE SKIP LOCKED) l
 CROSS JOIN LATERAL (SELECT * FROM thread_rows w WHERE w.thread_no = l.thread_no OFFSET 0) v
 WHERE r.address_no = (SELECT a.address_no FROM addresses a WHERE a.address = $1) AND r.queue = 1
 ORDER BY r.address_no, r.priority, r.thread_no
 LIMIT $5
