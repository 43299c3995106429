-- By the message's public number. What has a UUID of its own is not the message.
SELECT outbox_no FROM outbox
 WHERE entry_no = COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = $1),
                  (SELECT k.entry_no FROM entries k WHERE k.entry_no = $1 AND k.message_no IS NULL))
   AND uid IS NULL
 LIMIT 1
