SELECT * FROM unread_rows ORDER BY delivered_id LIMIT $9
