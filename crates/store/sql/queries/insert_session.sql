INSERT INTO sessions (agent_no, address_no, session_id, state, started_at, seen_at, changed_at, client)
VALUES ($1, $2, $3, 1, $4, $4, $4, $5)
RETURNING session_no
