-- differs: SQLite takes the tables as they are named; PostgreSQL would begin with all mail, for the order.
-- What was for a session that ended, or has not been seen since $1, and was read by nobody. Sessions come first: each has little
-- mail of its own, and there is much mail.
SELECT m.*, d.address, s.changed_at
  FROM sessions s CROSS JOIN delivered v CROSS JOIN message_rows m JOIN addresses d ON d.address_no = s.address_no
 WHERE v.address_no = s.address_no AND m.entry_no = v.entry_no AND v.is_acked = 0 AND (s.state = 3 OR (s.state = 1 AND s.seen_at <= $1))
   AND (v.expires_at IS NULL OR v.expires_at > $2)
   AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.entry_no = v.entry_no AND r.step >= 3)
 ORDER BY m.event_id DESC
 LIMIT $3
