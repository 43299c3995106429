SELECT event_id FROM log WHERE entry_no = $1
