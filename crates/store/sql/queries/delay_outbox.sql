-- Of this message: SQLite gives the number of a row that is gone to the next one.
UPDATE outbox SET tries = $1, next_at = $2, problem = $3
 WHERE outbox_no = $4 AND entry_no = COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = $5),
                  (SELECT k.entry_no FROM entries k WHERE k.entry_no = $5 AND k.message_no IS NULL))
