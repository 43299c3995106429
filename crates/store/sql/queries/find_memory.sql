SELECT memory_no, thread_no, text, created_at FROM memories WHERE memory_no = $1 AND agent_no = $2 AND forgotten_at IS NULL
