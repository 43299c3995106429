SELECT * FROM message_rows WHERE entry_no = $1
