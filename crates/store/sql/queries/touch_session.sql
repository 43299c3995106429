UPDATE sessions SET seen_at = $1 WHERE session_no = $2
