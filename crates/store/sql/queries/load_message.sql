-- By its public number, which is the key unless the store was moved here.
SELECT * FROM message_rows
 WHERE entry_no = COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = $1),
                  (SELECT k.entry_no FROM entries k WHERE k.entry_no = $1 AND k.message_no IS NULL))
