UPDATE reaches SET tries = tries + 1, next_at = $1, problem = $2, problem_at = COALESCE(problem_at, $3) WHERE reach_no = $4
