INSERT INTO recipients (address_no, thread_no, priority, queue, expires_at, held_until) VALUES ($1, $2, $3, $4, $5, $6)
ON CONFLICT (address_no, thread_no) DO UPDATE
   SET expires_at = excluded.expires_at, queue = excluded.queue, held_until = excluded.held_until
