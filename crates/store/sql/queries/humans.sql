SELECT name FROM agents WHERE kind = 2 AND removed_at IS NULL AND name <> 'human' ORDER BY agent_no
