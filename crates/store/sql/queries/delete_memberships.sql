DELETE FROM memberships WHERE session_no = $1
