-- Only by who has the topic, and from where it was: two never say the same under two ids. Of this message: SQLite gives the number of a row
-- that is gone to the next one.
UPDATE outbox SET step_id = $1, file = $2, content = $3, problem = NULL
 WHERE outbox_no = $4 AND COALESCE(step_id, '') = $5 AND COALESCE(file, '') = $6
   AND EXISTS (SELECT 1 FROM topics t WHERE t.topic_no = outbox.topic_no AND t.bridge = $7)
   AND entry_no = COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = $8),
                  (SELECT k.entry_no FROM entries k WHERE k.entry_no = $8 AND k.message_no IS NULL))
RETURNING outbox_no
