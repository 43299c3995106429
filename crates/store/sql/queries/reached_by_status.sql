-- Work for one address by stored status ($2 is a set of status bits), claimable or not.
SELECT v.* FROM recipients r JOIN thread_rows v ON v.thread_no = r.thread_no
 WHERE r.address_no = $1 AND v.opened_by_kind = 1 AND ($2 & (1 << v.status)) <> 0
   AND (v.status <> 1 OR v.attempts > 0 OR r.expires_at IS NULL OR r.expires_at > $3)
   AND (CAST($4 AS TEXT) IS NULL OR v.run_id = $4) AND (CAST($5 AS TEXT) IS NULL OR v.task_id = $5)
 ORDER BY v.priority, v.thread_no
 LIMIT $6
