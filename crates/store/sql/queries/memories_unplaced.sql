-- Those without a vector, or with one of another model.
SELECT memory_no, text FROM memories
 WHERE agent_no = $1 AND forgotten_at IS NULL AND (model IS NULL OR model <> $2) ORDER BY memory_no DESC LIMIT $3
