DELETE FROM receipts WHERE entry_no IN (SELECT e.entry_no FROM entries e WHERE e.thread_no = $1)
