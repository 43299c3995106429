-- The first so many of each payer; what a topic had no room for is none of them.
SELECT CAST(COALESCE(SUM(CASE WHEN count < $1 THEN count ELSE $1 END), 0) AS BIGINT) FROM floods WHERE topic_no = $2 AND payer <> $3
