SELECT * FROM event_rows WHERE thread_no = $1 ORDER BY event_id
