-- Every filter is optional: a null parameter matches all.
SELECT v.* FROM thread_rows v
 WHERE ($3 & (1 << v.status)) <> 0
   AND (CAST($4 AS TEXT) IS NULL OR v.creator = $4)
   AND (CAST($5 AS TEXT) IS NULL OR COALESCE(v.holder, v.to_first) = $5)
   AND (CAST($6 AS TEXT) IS NULL OR v.run_id = $6)
   AND (CAST($7 AS TEXT) IS NULL OR v.task_id = $7)
   AND (CAST($1 AS TEXT) IS NULL OR v.creator = $1 OR v.holder = $1
        OR EXISTS (SELECT 1 FROM recipients r
                    WHERE r.address_no IN (SELECT address_no FROM reach) AND r.thread_no = v.thread_no))
 ORDER BY v.thread_no DESC
 LIMIT $8
