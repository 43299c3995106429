INSERT INTO recipients (address_no, thread_no, priority, queue, expires_at) VALUES ($1, $2, $3, $4, $5)
