-- Every filter is optional: a null parameter matches all.
SELECT v.* FROM thread_rows v
 WHERE ($1 & (1 << v.status)) <> 0
   AND (CAST($2 AS TEXT) IS NULL OR v.creator = $2)
   AND (CAST($3 AS TEXT) IS NULL OR COALESCE(v.holder, v.to_first) = $3)
   AND (CAST($4 AS TEXT) IS NULL OR v.run_id = $4)
   AND (CAST($5 AS TEXT) IS NULL OR v.task_id = $5)
   AND (CAST($6 AS TEXT) IS NULL OR v.creator = $6 OR v.holder = $6
        OR EXISTS (SELECT 1 FROM recipients r JOIN addresses a ON a.address_no = r.address_no
                    WHERE a.address = $6 AND r.thread_no = v.thread_no))
 ORDER BY v.thread_no DESC
 LIMIT $7
