-- The oldest first.
SELECT t.topic_no, t.place, t.name, t.topic, t.step_id, t.sequence, t.time, t.hash, t.problem, t.taken,
       COALESCE(e.message_no, e.entry_no), a.name, o.tries, o.next_at, o.problem
  FROM outbox o JOIN topics t ON t.topic_no = o.topic_no JOIN entries e ON e.entry_no = o.entry_no
  JOIN agents a ON a.agent_no = o.agent_no
 WHERE o.problem IS NOT NULL ORDER BY o.outbox_no LIMIT $1
