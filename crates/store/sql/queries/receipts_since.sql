-- Reads and acknowledgements since a time, oldest first.
SELECT r.entry_no, r.step, a.name, r.session, r.created_at
  FROM receipts r JOIN agents a ON a.agent_no = r.agent_no
 WHERE r.created_at >= $1
 ORDER BY r.created_at, r.entry_no
