SELECT * FROM connection_rows WHERE thread_no = $1 OR question_no = $1 ORDER BY connection_no
