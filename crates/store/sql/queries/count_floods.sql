-- The first so many of each payer are kept; what a topic had no room for is counted in one row, and none of it is kept.
SELECT CAST(COALESCE(SUM(CASE WHEN payer = $1 THEN count ELSE count - $2 END), 0) AS BIGINT) FROM floods WHERE payer = $1 OR count > $2
