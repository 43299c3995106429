SELECT t.topic_no, t.place, t.name, t.topic, t.step_id, t.sequence, t.time, t.hash, t.problem, t.taken,
       r.sequence, r.time, r.payer, r.hash, r.state, r.uid, r.reason, r.content
  FROM records r JOIN topics t ON t.topic_no = r.topic_no
 WHERE r.uid = $1 ORDER BY r.topic_no, r.sequence LIMIT $2
