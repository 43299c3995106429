DELETE FROM entries WHERE thread_no = $1
