INSERT INTO bookmarks (agent_no, session_no, address_no, read_to) VALUES ($1, $2, $3, $4)
ON CONFLICT (agent_no, session_no, address_no) DO UPDATE SET read_to = excluded.read_to
