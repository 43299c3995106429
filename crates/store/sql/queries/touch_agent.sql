UPDATE agents SET seen_at = $1, removed_at = NULL WHERE agent_no = $2
