-- With $1, the one with this id.
SELECT token_id, agent, scopes, label, created_at, expires_at, revoked_at, seen_at FROM tokens
 WHERE CAST($1 AS TEXT) IS NULL OR token_id = $1
 ORDER BY created_at, token_id
