UPDATE agents SET last_read = $1, last_read_at = $2 WHERE agent_no = $3
