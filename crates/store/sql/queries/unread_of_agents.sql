-- differs: here a count that has reached its limit ends by itself; PostgreSQL must be told where to stop.
-- How much agents have not read, each counted up to $3. $4 is a list of names between blanks, or nothing for all; it may find a
-- name more. The readers are gone through as they are: an index of them would be made anew for each agent.
SELECT a.name,
       (SELECT COUNT(*) FROM (SELECT DISTINCT v.entry_no FROM readers r CROSS JOIN deliveries v CROSS JOIN entries e
                               WHERE +r.agent_no = a.agent_no AND v.address_no = r.address_no
                                 AND v.is_acked IN (0, r.mode IN (3, 4)) AND v.entry_no > r.read_to
                                 AND (v.expires_at IS NULL OR v.expires_at > r.now)
                                 AND e.entry_no = v.entry_no
                                 AND NOT (e.source_no = r.agent_no
                                          AND (r.own IS NULL OR e.source_session IS NULL OR e.source_session = r.own))
                                 AND NOT EXISTS (SELECT 1 FROM receipts t
                                                  WHERE t.entry_no = v.entry_no AND t.step = 3 AND t.address_no = 0
                                                    AND t.agent_no = r.agent_no)
                                 AND (r.mode <> 2 OR e.event_type <> 1
                                      OR NOT EXISTS (SELECT 1 FROM threads t
                                                      WHERE t.thread_no = e.thread_no AND t.opened_by_kind = 1
                                                        AND t.holder_no <> r.agent_no))
                               LIMIT $3))
  FROM agents a
 WHERE CAST($4 AS TEXT) IS NULL OR $4 LIKE '% ' || a.name || ' %'
