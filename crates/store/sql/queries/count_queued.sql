-- How much work waits to be claimed, counted up to $1.
SELECT COUNT(*) FROM (SELECT DISTINCT r.thread_no FROM recipients r WHERE r.queue = 1 LIMIT $1) q
