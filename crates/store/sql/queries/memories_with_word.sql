SELECT memory_no, times FROM memory_words WHERE agent_no = $1 AND word = $2 ORDER BY memory_no DESC LIMIT $3
