INSERT INTO connections (agent_no, inbound, request, role, state, other, other_inbound, memo, topic, reached, tries, next_at, rev, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $3, 0, $10, 0, $10)
ON CONFLICT (agent_no, inbound, request) DO NOTHING RETURNING connection_no
