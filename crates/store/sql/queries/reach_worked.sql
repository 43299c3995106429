UPDATE reaches SET sent = sent + 1, sent_at = $1, tries = 0, next_at = 0, problem = NULL, problem_at = NULL WHERE reach_no = $2
