INSERT INTO receipts (entry_no, step, address_no, agent_no, session_no, created_at, session)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING
RETURNING created_at
