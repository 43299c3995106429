SELECT * FROM message_rows WHERE event_id > $1 ORDER BY event_id LIMIT $2
