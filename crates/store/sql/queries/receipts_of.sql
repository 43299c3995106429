SELECT r.step, a.name, r.session, r.created_at, (SELECT d.address FROM addresses d WHERE d.address_no = r.address_no), r.door
  FROM receipts r JOIN agents a ON a.agent_no = r.agent_no
 WHERE r.entry_no = COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = $1),
                    (SELECT k.entry_no FROM entries k WHERE k.entry_no = $1 AND k.message_no IS NULL))
 ORDER BY r.created_at, r.step, r.address_no, r.agent_no, r.session_no
