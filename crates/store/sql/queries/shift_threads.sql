-- As shift_entries, for the threads.
UPDATE threads
   SET expires_at = (SELECT r.expires_at FROM recipients r WHERE r.address_no = $1 AND r.thread_no = threads.thread_no)
 WHERE thread_no IN (SELECT r.thread_no FROM recipients r WHERE r.address_no = $1 AND r.expires_at > $2)
   AND expires_at < (SELECT r.expires_at FROM recipients r WHERE r.address_no = $1 AND r.thread_no = threads.thread_no)
