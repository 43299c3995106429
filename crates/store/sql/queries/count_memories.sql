SELECT count(*) FROM memories WHERE agent_no = $1 AND forgotten_at IS NULL
