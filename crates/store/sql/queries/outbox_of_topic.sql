SELECT o.outbox_no, COALESCE(e.message_no, e.entry_no), a.name, o.step_id, o.file, o.sequence, o.tries, o.next_at
  FROM outbox o JOIN entries e ON e.entry_no = o.entry_no JOIN agents a ON a.agent_no = o.agent_no
 WHERE o.topic_no = $1 ORDER BY o.outbox_no LIMIT $2
