INSERT INTO topics (place, name, agent_no, topic, sequence, held_until, created_at) VALUES ($1, $2, $3, $4, 0, 0, $5)
ON CONFLICT (place, name) DO UPDATE SET topic = COALESCE(excluded.topic, topics.topic) RETURNING topic_no
