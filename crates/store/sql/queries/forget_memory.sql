UPDATE memories SET text = '', model = NULL, vector = NULL, forgotten_at = $1 WHERE memory_no = $2
