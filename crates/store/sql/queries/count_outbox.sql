SELECT COUNT(*), MIN(created_at), COUNT(problem) FROM outbox
