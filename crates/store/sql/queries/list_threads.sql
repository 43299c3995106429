-- Every filter is optional: a null parameter matches all. $8 is the thread before which to go on.
SELECT v.* FROM thread_rows v
 WHERE ($3 & (1 << v.status)) <> 0
   AND (CAST($4 AS TEXT) IS NULL OR v.creator_no = (SELECT a.agent_no FROM agents a WHERE a.name = $4))
   AND (CAST($5 AS TEXT) IS NULL OR COALESCE(v.holder, v.to_first) = $5)
   AND (CAST($6 AS TEXT) IS NULL OR v.run_id = $6)
   AND (CAST($7 AS TEXT) IS NULL OR v.task_id = $7)
   AND (CAST($1 AS TEXT) IS NULL OR v.creator_no = (SELECT a.agent_no FROM agents a WHERE a.name = $1)
        OR v.holder_no = (SELECT a.agent_no FROM agents a WHERE a.name = $1)
        OR v.thread_no IN (SELECT r.thread_no FROM recipients r WHERE r.address_no IN (SELECT address_no FROM reach)))
   AND v.thread_no < $8
 ORDER BY v.thread_no DESC
 LIMIT $9
