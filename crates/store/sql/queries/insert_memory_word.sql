INSERT INTO memory_words (agent_no, word, memory_no, times) VALUES ($1, $2, $3, $4)
