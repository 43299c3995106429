-- Who wrote a message, and how many it follows from.
SELECT source_no, hops FROM entries
 WHERE entry_no = COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = $1),
                  (SELECT k.entry_no FROM entries k WHERE k.entry_no = $1 AND k.message_no IS NULL))
