SELECT outbox_no, topic_no, address_no, expires_at FROM outbox WHERE entry_no = $1 AND topic_no = $2
