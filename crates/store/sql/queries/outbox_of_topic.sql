-- The first of each sender: one that waits does not stand in the way of the others.
SELECT o.outbox_no, t.place, COALESCE(e.message_no, e.entry_no), a.name, o.step_id, o.file, o.content, o.sequence, o.tries, o.next_at
  FROM (SELECT b.*, ROW_NUMBER() OVER (PARTITION BY b.agent_no ORDER BY b.outbox_no) AS turn FROM outbox b WHERE b.topic_no = $1) o
  JOIN topics t ON t.topic_no = o.topic_no JOIN entries e ON e.entry_no = o.entry_no JOIN agents a ON a.agent_no = o.agent_no
 WHERE o.turn <= $2 ORDER BY o.outbox_no
