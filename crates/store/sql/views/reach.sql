-- The addresses that reach an agent ($1): its name, what its living (seen since $2) and frozen sessions
-- have, and for a person the address of all persons.
SELECT d.address_no FROM addresses d WHERE d.address = CAST($1 AS TEXT)
 UNION
SELECT m.address_no FROM agents a JOIN sessions s ON s.agent_no = a.agent_no JOIN memberships m ON m.session_no = s.session_no
 WHERE a.name = $1 AND ((s.state = 1 AND s.seen_at > $2) OR s.state = 2)
 UNION
SELECT d.address_no FROM addresses d JOIN agents a ON a.name = $1 AND a.kind = 2 WHERE d.address = 'human'
