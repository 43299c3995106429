INSERT INTO recipients (address_no, thread_no, priority, queue, expires_at, held_until) VALUES ($1, $2, $3, $4, $5, $6)
