DELETE FROM memory_words WHERE memory_no = $1
