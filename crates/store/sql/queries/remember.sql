INSERT INTO replays (agent_no, key, digest, entry_no, answer, created_at) VALUES ($1, $2, $3, $4, $5, $6)
