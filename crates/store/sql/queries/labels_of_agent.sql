-- The roles and tags of one agent's sessions.
SELECT m.session_no, d.mode, d.address
  FROM sessions s JOIN memberships m ON m.session_no = s.session_no JOIN addresses d ON d.address_no = m.address_no
 WHERE d.mode IN (2, 3) AND s.agent_no = (SELECT a.agent_no FROM agents a WHERE a.name = $1)
 ORDER BY m.session_no, d.address
