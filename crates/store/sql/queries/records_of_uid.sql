SELECT t.topic, r.sequence, r.time, r.payer, r.hash, r.state, r.uid, r.reason, r.content FROM records r JOIN topics t ON t.topic_no = r.topic_no WHERE r.uid = $1 ORDER BY t.topic_no, r.sequence
