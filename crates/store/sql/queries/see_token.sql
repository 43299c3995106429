UPDATE tokens SET seen_at = $1 WHERE token_id = $2
