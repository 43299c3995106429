DELETE FROM recipients WHERE thread_no = $1
