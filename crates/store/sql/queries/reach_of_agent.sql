-- The addresses that reach an agent through its sessions that have not ended, and when each was last seen. Mail to a frozen
-- one's own does not age.
SELECT d.address_no, d.mode, d.address, CASE WHEN s.state = 2 AND s.address_no = d.address_no THEN s.changed_at END,
       s.state, s.seen_at
  FROM sessions s JOIN memberships m ON m.session_no = s.session_no JOIN addresses d ON d.address_no = m.address_no
 WHERE s.agent_no = (SELECT a.agent_no FROM agents a WHERE a.name = $1) AND s.state IN (1, 2)
