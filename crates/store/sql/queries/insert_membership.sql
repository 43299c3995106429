INSERT INTO memberships (session_no, address_no) VALUES ($1, $2) ON CONFLICT DO NOTHING
