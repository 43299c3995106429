SELECT memory_no, vector FROM memories
 WHERE agent_no = $1 AND forgotten_at IS NULL AND model = $2 AND memory_no > $3 ORDER BY memory_no LIMIT $4
