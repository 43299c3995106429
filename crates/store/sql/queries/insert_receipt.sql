INSERT INTO receipts (entry_no, step, address_no, agent_no, session_no, created_at, session, door)
VALUES (COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = $1),
        (SELECT k.entry_no FROM entries k WHERE k.entry_no = $1 AND k.message_no IS NULL)),
        $2, $3, $4, $5, $6, $7, $8)
ON CONFLICT DO NOTHING
RETURNING created_at
