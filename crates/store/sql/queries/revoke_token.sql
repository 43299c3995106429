UPDATE tokens SET revoked_at = $1 WHERE token_id = $2 AND revoked_at IS NULL RETURNING token_id
