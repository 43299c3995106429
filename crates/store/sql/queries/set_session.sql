UPDATE sessions
   SET agent_no = $1, state = $2, started_at = $3, seen_at = $4, changed_at = $5, client = $6
 WHERE session_no = $7
