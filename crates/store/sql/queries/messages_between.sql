-- Messages up to an event and after another, newest first, each after its thread.
SELECT v.*, m.* FROM message_rows m JOIN thread_rows v ON v.thread_no = m.thread_no
 WHERE m.event_id <= $1 AND m.event_id > $2
 ORDER BY m.event_id DESC
 LIMIT $3
