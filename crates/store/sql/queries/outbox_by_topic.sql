SELECT topic_no, COUNT(*), MIN(created_at), COUNT(problem) FROM outbox GROUP BY topic_no ORDER BY topic_no
