-- Receipts of the messages of a thread ($1) from one event ($2) to another ($3), each with its message.
SELECT COALESCE(l.message_no, l.entry_no), r.step, a.name, r.session, r.created_at,
       (SELECT d.address FROM addresses d WHERE d.address_no = r.address_no), r.door
  FROM log l JOIN receipts r ON r.entry_no = l.entry_no JOIN agents a ON a.agent_no = r.agent_no
 WHERE l.thread_no = $1 AND l.event_id >= $2 AND l.event_id <= $3 AND l.kind IS NOT NULL
 ORDER BY r.created_at, r.step, r.address_no, r.agent_no, r.session_no
