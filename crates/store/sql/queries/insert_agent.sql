INSERT INTO agents (name, kind, created_at, seen_at) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE SET name = excluded.name
RETURNING agent_no
