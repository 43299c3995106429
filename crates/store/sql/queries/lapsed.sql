-- Work for one address whose lease has run out, in the order in which claims take it. A lease that was renewed ends
-- later than is written here.
SELECT v.* FROM recipients r JOIN thread_rows v ON v.thread_no = r.thread_no
 WHERE r.address_no = (SELECT a.address_no FROM addresses a WHERE a.address = $1) AND r.queue = 2
   AND r.held_until <= $2 AND v.lease_until <= $2
   AND (CAST($3 AS TEXT) IS NULL OR v.run_id = $3) AND (CAST($4 AS TEXT) IS NULL OR v.task_id = $4)
 ORDER BY r.priority, r.thread_no
 LIMIT $5
