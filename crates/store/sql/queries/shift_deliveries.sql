-- What is in the inbox of a session ($3) that was frozen at $2 and wakes at $1 has not aged since then, or since
-- it came.
UPDATE deliveries
   SET expires_at = expires_at + $1 - (SELECT CASE WHEN e.created_at > $2 THEN e.created_at ELSE $2 END
                                         FROM entries e WHERE e.entry_no = deliveries.entry_no)
 WHERE address_no = $3 AND is_acked = 0 AND expires_at > $2
