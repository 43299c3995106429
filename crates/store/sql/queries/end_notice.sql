UPDATE notices SET state = $1, done_at = $2 WHERE notice_no = $3 AND state = 0 RETURNING notice_no
