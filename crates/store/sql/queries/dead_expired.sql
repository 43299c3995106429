-- What expired ($1) before anybody read it, and work that expired before anybody claimed it. Mail of a frozen
-- session does not age.
SELECT m.*, (SELECT d.address FROM addresses d WHERE d.address_no = v.address_no), v.expires_at
  FROM delivered v JOIN message_rows m ON m.entry_no = v.entry_no JOIN threads t ON t.thread_no = m.thread_no
 WHERE v.is_acked = 0 AND v.expires_at IS NOT NULL AND v.expires_at <= $1 AND m.expires_at <= $1
   AND NOT EXISTS (SELECT 1 FROM sessions s WHERE s.address_no = v.address_no AND s.state = 2)
   AND (NOT EXISTS (SELECT 1 FROM receipts r WHERE r.entry_no = v.entry_no AND r.step >= 3)
        OR (m.event_type = 1 AND t.opened_by_kind = 1 AND t.status = 1 AND t.attempts = 0))
   AND NOT (m.event_type = 1 AND t.opened_by_kind = 1 AND (t.attempts > 0 OR t.status > 4))
 ORDER BY v.expires_at DESC
 LIMIT $2
