-- Events after a cursor that a watcher wakes on: renewals (type 4) wake nobody. With an agent, those
-- by others in threads that it created, holds or is reached by. $2 is a set of status bits.
SELECT v.* FROM event_rows v
 WHERE v.event_id > $1 AND v.event_type <> 4 AND ($2 & (1 << v.status)) <> 0
   AND (CAST($3 AS TEXT) IS NULL OR v.run_id = $3)
   AND (CAST($4 AS TEXT) IS NULL OR v.task_id = $4)
   AND (CAST($5 AS BIGINT) IS NULL OR v.thread_no = $5)
   AND (CAST($6 AS TEXT) IS NULL
        OR (v.source <> $6
            AND (EXISTS (SELECT 1 FROM agents a WHERE a.name = $6 AND a.agent_no IN (v.creator_no, v.holder_no))
                 OR EXISTS (SELECT 1 FROM recipients r JOIN addresses d ON d.address_no = r.address_no
                             WHERE d.address = $6 AND r.thread_no = v.thread_no))))
 ORDER BY v.event_id
 LIMIT $7
