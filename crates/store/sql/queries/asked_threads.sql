-- Threads that a question to one address opened, and that nobody has taken or called off; the newest first.
SELECT v.* FROM recipients r JOIN thread_rows v ON v.thread_no = r.thread_no
 WHERE r.address_no = $1 AND v.opened_by_kind = 3 AND v.status = 1
 ORDER BY v.thread_no DESC
 LIMIT $2
