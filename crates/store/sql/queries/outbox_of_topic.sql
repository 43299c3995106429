SELECT o.outbox_no, t.place, COALESCE(e.message_no, e.entry_no), a.name, o.step_id, o.file, o.content, o.sequence, o.tries, o.next_at
  FROM outbox o JOIN topics t ON t.topic_no = o.topic_no JOIN entries e ON e.entry_no = o.entry_no JOIN agents a ON a.agent_no = o.agent_no
 WHERE o.topic_no = $1 ORDER BY o.outbox_no LIMIT $2
