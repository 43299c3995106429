SELECT name FROM agents WHERE seal IS NOT NULL AND removed_at IS NULL ORDER BY name
