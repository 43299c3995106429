SELECT r.step, a.name, r.session, r.created_at, (SELECT d.address FROM addresses d WHERE d.address_no = r.address_no)
  FROM receipts r JOIN agents a ON a.agent_no = r.agent_no
 WHERE r.entry_no = $1
 ORDER BY r.created_at, r.step
