UPDATE threads SET to_list = $1, to_no = $2 WHERE thread_no = $3
