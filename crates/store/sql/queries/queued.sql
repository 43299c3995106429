-- Pending work for one address, in the order in which claims take it. What expired before anybody
-- claimed it is a dead letter.
SELECT v.* FROM recipients r JOIN thread_rows v ON v.thread_no = r.thread_no
 WHERE r.address_no = (SELECT a.address_no FROM addresses a WHERE a.address = $1) AND r.queue = 1
   AND (r.expires_at IS NULL OR r.expires_at > $2 OR v.attempts > 0)
   AND (CAST($3 AS TEXT) IS NULL OR v.run_id = $3) AND (CAST($4 AS TEXT) IS NULL OR v.task_id = $4)
 ORDER BY r.address_no, r.priority, r.thread_no
 LIMIT $5
