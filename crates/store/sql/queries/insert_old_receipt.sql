INSERT INTO receipts (entry_no, step, address_no, agent_no, session_no, created_at, session)
VALUES ($1, $2, $3, $4, 0, $5, NULL)
ON CONFLICT DO NOTHING
