SELECT token_id, agent, scopes, label, created_at, expires_at, revoked_at, seen_at FROM tokens WHERE hash = $1
