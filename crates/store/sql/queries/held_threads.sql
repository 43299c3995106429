-- Threads that somebody holds, or held until a lease ran out; those whose lease ends first, first.
SELECT v.* FROM thread_rows v WHERE v.lease_until IS NOT NULL ORDER BY v.lease_until LIMIT $1
