SELECT * FROM untold_rows ORDER BY priority, delivered_id LIMIT $13
