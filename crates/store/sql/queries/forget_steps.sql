UPDATE outbox SET step_id = NULL, file = NULL, sequence = NULL, tries = 0, next_at = 0, problem = NULL
