UPDATE threads SET latest_message = $1 WHERE thread_no = $2
