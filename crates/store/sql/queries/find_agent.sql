SELECT agent_no, kind, seen_at, last_read, last_read_at, removed_at, seal FROM agents WHERE name = $1
