SELECT * FROM thread_rows WHERE thread_no = $1
