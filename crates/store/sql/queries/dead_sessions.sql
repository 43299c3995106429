-- What was for a session that ended, or has not been seen since $1, and was read by nobody.
SELECT m.*, d.address, s.changed_at
  FROM sessions s JOIN addresses d ON d.address_no = s.address_no
  JOIN delivered v ON v.address_no = s.address_no JOIN message_rows m ON m.entry_no = v.entry_no
 WHERE v.is_acked = 0 AND (s.state = 3 OR (s.state = 1 AND s.seen_at <= $1))
   AND (v.expires_at IS NULL OR v.expires_at > $2)
   AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.entry_no = v.entry_no AND r.step >= 3)
 ORDER BY m.event_id DESC
 LIMIT $3
