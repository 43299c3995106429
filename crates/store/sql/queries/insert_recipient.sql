INSERT INTO recipients (address_no, thread_no, priority, is_queued) VALUES ($1, $2, $3, $4)
