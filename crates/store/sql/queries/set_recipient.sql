INSERT INTO recipients (address_no, thread_no, priority, queue, expires_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (address_no, thread_no) DO UPDATE SET expires_at = excluded.expires_at, queue = excluded.queue
