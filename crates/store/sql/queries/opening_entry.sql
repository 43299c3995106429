SELECT COALESCE(message_no, entry_no) FROM entries WHERE thread_no = $1 AND event_type = 1
