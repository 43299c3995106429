INSERT INTO tokens (token_id, hash, agent, scopes, label, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
