-- Of this message: SQLite gives the number of a row that is gone to the next one.
UPDATE outbox SET step_id = $1, file = $2, sequence = $3, tries = $4, next_at = $5, problem = $6
 WHERE outbox_no = $7 AND entry_no = COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = $8),
                  (SELECT k.entry_no FROM entries k WHERE k.entry_no = $8 AND k.message_no IS NULL))
