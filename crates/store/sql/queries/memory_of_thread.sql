SELECT memory_no FROM memories WHERE agent_no = $1 AND thread_no = $2 AND forgotten_at IS NULL
