INSERT INTO proposals (connection_no, sequence, schedule, proposer, said, state, tries, next_at, rev, created_at)
VALUES ($1, $2, $3, $4, $5, $6, 0, $7, 0, $7)
ON CONFLICT (connection_no, sequence) DO NOTHING RETURNING proposal_no
