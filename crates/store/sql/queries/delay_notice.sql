UPDATE notices SET next_at = $1, problem = $2 WHERE notice_no = $3 AND state = 0
