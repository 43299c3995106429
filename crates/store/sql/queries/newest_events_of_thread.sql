-- What happened last in a thread ($1), the newest first. Renewals (4) are not told.
SELECT * FROM event_rows WHERE thread_no = $1 AND event_type <> 4 ORDER BY event_id DESC LIMIT $2
