SELECT MAX(m.event_id) FROM message_rows m WHERE m.thread_no = $1 AND m.source = $2
