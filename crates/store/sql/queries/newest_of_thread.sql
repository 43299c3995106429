-- The newest messages of a thread ($1) before an event ($2), the newest first.
SELECT * FROM message_rows WHERE thread_no = $1 AND event_id < $2 ORDER BY event_id DESC LIMIT $3
