INSERT INTO outbox (topic_no, entry_no, agent_no, content, uid, tries, next_at, created_at) VALUES ($1, $2, $3, $4, $5, 0, $6, $6)
