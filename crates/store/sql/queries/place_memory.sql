UPDATE memories SET model = $1, vector = $2 WHERE memory_no = $3 AND forgotten_at IS NULL
