SELECT memory_no, thread_no, text, created_at FROM memories
 WHERE agent_no = $1 AND memory_no < $2 AND forgotten_at IS NULL ORDER BY memory_no DESC LIMIT $3
