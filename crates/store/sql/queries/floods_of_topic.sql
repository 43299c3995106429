-- The first so many of each payer are kept; what a topic had no room for is counted in one row, and none of it is kept.
SELECT payer, CASE WHEN payer = $1 THEN count ELSE count - $2 END FROM floods
 WHERE topic_no = $3 AND (payer = $1 OR count > $2) ORDER BY payer
