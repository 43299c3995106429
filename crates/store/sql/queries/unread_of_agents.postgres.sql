-- differs: each address is looked at by itself and the whole is cut off, with some to spare: which came by two addresses is told only
-- of all that was found.
SELECT a.name,
       (SELECT LEAST(COUNT(DISTINCT k.entry_no), CAST($3 AS BIGINT))
          FROM (SELECT u.entry_no
                  FROM (SELECT * FROM readers WHERE agent_no = a.agent_no ORDER BY mode <> 1, mode = 2) r
                 CROSS JOIN (VALUES (0), (1)) AS part (is_acked)
                 CROSS JOIN LATERAL (
                       SELECT v.entry_no FROM deliveries v JOIN entries e ON e.entry_no = v.entry_no
                        WHERE (part.is_acked = 0 OR r.mode IN (3, 4))
                          AND v.address_no = r.address_no AND v.is_acked = part.is_acked AND v.event_id > r.read_to
                          AND (v.expires_at IS NULL OR v.expires_at > r.now)
                          AND NOT (e.source_no = r.agent_no
                                   AND (r.own IS NULL OR e.source_session IS NULL OR e.source_session = r.own))
                          AND NOT EXISTS (SELECT 1 FROM receipts t
                                           WHERE t.entry_no = v.entry_no AND t.step = 3 AND t.address_no = 0
                                             AND t.agent_no = r.agent_no)
                          AND (r.mode <> 2 OR e.event_type <> 1
                               OR NOT EXISTS (SELECT 1 FROM threads t
                                               WHERE t.thread_no = e.thread_no AND t.opened_by_kind = 1
                                                 AND t.holder_no <> r.agent_no))
                        LIMIT $3) u
                 LIMIT $3 + $3 / 2) k)
  FROM agents a
 WHERE CAST($4 AS TEXT) IS NULL OR $4 LIKE '% ' || a.name || ' %'
