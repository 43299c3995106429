-- differs: the mail of each session is looked at by itself, which has PostgreSQL begin with the sessions.
SELECT m.*, d.address, s.changed_at
  FROM sessions s
 CROSS JOIN LATERAL (
       SELECT v.entry_no FROM delivered v
        WHERE v.address_no = s.address_no AND v.is_acked = 0 AND (v.expires_at IS NULL OR v.expires_at > $2)
          AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.entry_no = v.entry_no AND r.step >= 3)
        ORDER BY v.event_id DESC
        LIMIT $3) k
  JOIN message_rows m ON m.entry_no = k.entry_no JOIN addresses d ON d.address_no = s.address_no
 WHERE s.state = 3 OR (s.state = 1 AND s.seen_at <= $1)
 ORDER BY m.event_id DESC
 LIMIT $3
