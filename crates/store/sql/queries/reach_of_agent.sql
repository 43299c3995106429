-- The addresses that reach an agent through its living and frozen sessions. Mail to a frozen one's own
-- does not age.
SELECT DISTINCT d.address_no, d.mode, d.address,
       CASE WHEN s.state = 2 AND s.address_no = d.address_no THEN s.changed_at END
  FROM sessions s JOIN memberships m ON m.session_no = s.session_no JOIN addresses d ON d.address_no = m.address_no
 WHERE s.agent_no = $1 AND ((s.state = 1 AND s.seen_at > $2) OR s.state = 2)
