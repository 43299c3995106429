-- Events after a cursor that a watcher wakes on: renewals (type 4) wake nobody. With an agent, those
-- by others in threads that it created, holds or is reached by, and messages for it. $4 is a set of status bits.
SELECT v.* FROM event_rows v
 WHERE v.event_id > $3 AND v.event_type <> 4 AND ($4 & (1 << v.status)) <> 0
   AND (CAST($5 AS TEXT) IS NULL OR v.run_id = $5)
   AND (CAST($6 AS TEXT) IS NULL OR v.task_id = $6)
   AND (CAST($7 AS BIGINT) IS NULL OR v.thread_no = $7)
   AND (CAST($1 AS TEXT) IS NULL
        OR (v.source <> $1
            AND (EXISTS (SELECT 1 FROM agents a WHERE a.name = $1 AND a.agent_no IN (v.creator_no, v.holder_no))
                 OR EXISTS (SELECT 1 FROM recipients r
                             WHERE r.address_no IN (SELECT address_no FROM reach) AND r.thread_no = v.thread_no)
                 OR EXISTS (SELECT 1 FROM deliveries d
                             WHERE d.address_no IN (SELECT address_no FROM reach) AND d.is_acked IN (0, 1)
                               AND d.entry_no = v.entry_no))))
 ORDER BY v.event_id
 LIMIT $8
