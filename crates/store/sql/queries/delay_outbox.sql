UPDATE outbox SET tries = $1, next_at = $2, problem = $3 WHERE outbox_no = $4
