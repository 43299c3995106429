UPDATE outbox SET step_id = $1, file = $2, sequence = $3, tries = $4, next_at = $5, problem = $6 WHERE outbox_no = $7
