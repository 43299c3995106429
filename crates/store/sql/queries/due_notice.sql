-- The longest due: one that failed goes behind the others.
SELECT notice_no, uid, sort, message, since, created_at FROM notices
 WHERE reach_no = $1 AND state = 0 AND next_at <= $2
 ORDER BY next_at, notice_no LIMIT 1
