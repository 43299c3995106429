UPDATE topics SET topic = NULL, step_id = NULL, sequence = 0, time = NULL, hash = NULL, problem = NULL, taken = 0, created_at = $1
