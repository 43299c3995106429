UPDATE threads SET to_no = $1
 WHERE to_no = $2 AND thread_no IN (SELECT r.thread_no FROM recipients r WHERE r.address_no = $2)
