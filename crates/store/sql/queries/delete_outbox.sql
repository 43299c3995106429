DELETE FROM outbox WHERE outbox_no = $1
