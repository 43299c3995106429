-- Unread messages of which the reader's client was not told in this session ($9; steps 1 and 2), or all of them
-- ($10 = 1); the urgent ones alone ($11 = 1), or those that ask for something too (2): work and questions. Not
-- what came after an event ($12).
SELECT u.* FROM unread_rows u
 WHERE (NOT EXISTS (SELECT 1 FROM receipts s
                     WHERE s.entry_no = u.entry_no AND s.step IN (1, 2) AND s.address_no = 0 AND s.agent_no = $4
                       AND s.session_no = $9)
        OR $10 = 1)
   AND ($11 = 0 OR u.priority = 1 OR ($11 = 2 AND u.kind IN (1, 3)))
   AND u.delivered_id <= $12
