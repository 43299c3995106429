INSERT INTO memories (agent_no, thread_no, text, created_at) VALUES ($1, $2, $3, $4) RETURNING memory_no
