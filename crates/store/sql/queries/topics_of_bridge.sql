SELECT topic_no, place, name, topic, step_id, sequence, time, hash, problem, taken FROM topics WHERE bridge = $1 AND topic IS NOT NULL ORDER BY topic_no
