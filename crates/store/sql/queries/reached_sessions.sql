-- The sessions that an address reaches now: alive (1) and seen since $2; frozen ones (2) count when $3 is set.
SELECT s.session_no, a.name, s.session_id, s.seen_at
  FROM memberships m JOIN sessions s ON s.session_no = m.session_no JOIN agents a ON a.agent_no = s.agent_no
 WHERE m.address_no = $1 AND ((s.state = 1 AND s.seen_at > $2) OR (s.state = 2 AND $3 = 1))
 ORDER BY s.session_no
