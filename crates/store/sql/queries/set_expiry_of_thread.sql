UPDATE threads SET expires_at = $1 WHERE thread_no = $2
