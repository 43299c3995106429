-- The roles and tags of all sessions.
SELECT m.session_no, d.mode, d.address FROM memberships m JOIN addresses d ON d.address_no = m.address_no
 WHERE d.mode IN (2, 3)
 ORDER BY m.session_no, d.address
