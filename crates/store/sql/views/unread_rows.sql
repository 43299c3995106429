-- What is in the inbox of an address ($1) after a bookmark ($2) and concerns a reader ($4, in session $5 when
-- that counts). Not expired ($3), not its own, not yet read by it ($6 is the session's key, -1 where any of its
-- sessions counts); of a role's mail ($7), not what another holder has claimed. $8 is 0, or 1 for what somebody
-- has acknowledged, which at a tag is not yet read by all. What is delivered comes first and gives the order, so
-- that a page is read and not the whole inbox.
SELECT m.*, v.event_id AS delivered_id FROM delivered v CROSS JOIN message_rows m
 WHERE m.entry_no = v.entry_no AND v.address_no = $1 AND v.event_id > $2 AND (v.expires_at IS NULL OR v.expires_at > $3)
   AND NOT (m.source_no = $4 AND (CAST($5 AS TEXT) IS NULL OR m.source_session IS NULL OR m.source_session = $5))
   AND NOT EXISTS (SELECT 1 FROM receipts r
                    WHERE r.entry_no = v.entry_no AND r.step = 3 AND r.address_no = 0 AND r.agent_no = $4
                      AND ($6 < 0 OR r.session_no IN (0, $6)))
   AND ($7 = 0 OR m.event_type <> 1
        OR NOT EXISTS (SELECT 1 FROM threads t
                        WHERE t.thread_no = m.thread_no AND t.opened_by_kind = 1 AND t.holder_no <> $4))
   AND v.is_acked = $8
