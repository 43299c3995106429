-- differs: PostgreSQL would read all threads first while they are few, and keep the plan when they are many. OFFSET 0 keeps
-- the order of the walk: what may have run out, then each thread. Without a time ($2) it is the server's.
SELECT v.* FROM recipients r
 CROSS JOIN LATERAL (SELECT * FROM thread_rows w WHERE w.thread_no = r.thread_no OFFSET 0) v
 WHERE r.address_no = (SELECT a.address_no FROM addresses a WHERE a.address = $1) AND r.queue = 2
   AND r.held_until <= (SELECT COALESCE(CAST($2 AS BIGINT), CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)))
   AND v.lease_until <= (SELECT COALESCE(CAST($2 AS BIGINT), CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)))
   AND (CAST($3 AS TEXT) IS NULL OR v.run_id = $3) AND (CAST($4 AS TEXT) IS NULL OR v.task_id = $4)
 ORDER BY r.priority, r.thread_no
 LIMIT $5
