-- The addresses that reach a session. Mail to its own does not age since it was frozen (2).
SELECT m.session_no, d.address_no, d.mode, d.address,
       CASE WHEN s.state = 2 AND s.address_no = d.address_no THEN s.changed_at END
  FROM memberships m JOIN sessions s ON s.session_no = m.session_no JOIN addresses d ON d.address_no = m.address_no
 WHERE m.session_no = $1
 ORDER BY d.address
