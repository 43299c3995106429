-- Work for one address whose lease has run out (opened by kind 1, a task).
SELECT v.* FROM thread_rows v
 WHERE v.lease_until IS NOT NULL AND v.lease_until <= $1 AND v.opened_by_kind = 1
   AND EXISTS (SELECT 1 FROM recipients r WHERE r.address_no = $2 AND r.thread_no = v.thread_no)
   AND (CAST($3 AS TEXT) IS NULL OR v.run_id = $3) AND (CAST($4 AS TEXT) IS NULL OR v.task_id = $4)
 ORDER BY v.priority, v.thread_no
 LIMIT $5
