-- How many were made of messages after a time and up to another: those that stand alone ($4 is 0), or those that are counted in another ($4 is 1).
SELECT COUNT(*) FROM notices
 WHERE reach_no = $1 AND created_at > $2 AND created_at <= $3 AND $4 = CASE WHEN state = 4 THEN 1 ELSE 0 END AND message IS NOT NULL
