SELECT o.outbox_no, o.entry_no, a.name, o.step_id, o.file, o.sequence, o.tries, o.next_at FROM outbox o JOIN agents a ON a.agent_no = o.agent_no
 WHERE o.topic_no = $1 ORDER BY o.outbox_no LIMIT $2
