-- differs: PostgreSQL runs claims at the same time; each locks its candidate and passes over those
-- that another one has locked, so that they do not queue for the same row.
SELECT v.* FROM recipients r JOIN threads t ON t.thread_no = r.thread_no JOIN thread_rows v ON v.thread_no = r.thread_no
 WHERE r.address_no = $1 AND r.queue = 1 AND (r.expires_at IS NULL OR r.expires_at > $2 OR t.attempts > 0)
   AND (CAST($3 AS TEXT) IS NULL OR t.run_id = $3) AND (CAST($4 AS TEXT) IS NULL OR t.task_id = $4)
 ORDER BY r.priority, r.thread_no
 LIMIT $5
   FOR UPDATE OF t SKIP LOCKED
