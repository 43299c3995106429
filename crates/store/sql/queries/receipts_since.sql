-- Reads and acknowledgements since a time, oldest first.
SELECT COALESCE(e.message_no, e.entry_no), r.step, a.name, r.session, r.created_at
  FROM receipts r JOIN agents a ON a.agent_no = r.agent_no JOIN entries e ON e.entry_no = r.entry_no
 WHERE r.created_at >= $1
 ORDER BY r.created_at, 1, r.step, r.address_no, r.agent_no, r.session_no
