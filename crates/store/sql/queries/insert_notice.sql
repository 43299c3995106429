INSERT INTO notices (reach_no, uid, sort, message, since, state, tries, next_at, created_at) VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $8)
ON CONFLICT (reach_no, uid) DO NOTHING RETURNING notice_no
