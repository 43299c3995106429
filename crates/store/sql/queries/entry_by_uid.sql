SELECT COALESCE(message_no, entry_no) FROM entries WHERE uid = $1
