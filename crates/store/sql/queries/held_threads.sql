-- Threads that somebody holds, or held until a lease ran out; those whose lease ends first, first. Few are, and the queues know
-- them.
SELECT v.* FROM thread_rows v
 WHERE v.thread_no IN (SELECT r.thread_no FROM recipients r WHERE r.queue = 2) AND v.lease_until IS NOT NULL
 ORDER BY v.lease_until
 LIMIT $1
