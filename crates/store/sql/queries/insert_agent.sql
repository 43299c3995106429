INSERT INTO agents (name, kind, created_at) VALUES ($1, $2, $3)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING agent_no
