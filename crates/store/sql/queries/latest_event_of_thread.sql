SELECT MAX(event_id) FROM log WHERE thread_no = $1
