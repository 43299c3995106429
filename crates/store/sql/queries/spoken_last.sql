-- Who wrote the latest message of a thread, and how many it follows from.
SELECT source_no, hops FROM entries
 WHERE entry_no = (SELECT COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = t.latest_message),
                                   (SELECT k.entry_no FROM entries k WHERE k.entry_no = t.latest_message AND k.message_no IS NULL))
                     FROM threads t WHERE t.thread_no = $1)
