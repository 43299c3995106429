-- What of it is more urgent than usual (1 and 2).
SELECT * FROM unread_rows WHERE priority <= 2 ORDER BY delivered_id LIMIT $9
