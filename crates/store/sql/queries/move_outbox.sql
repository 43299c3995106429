-- Only by who has the topic, and from where it was: two never say the same under two ids.
UPDATE outbox SET step_id = $1, file = $2, content = $3, problem = NULL
 WHERE outbox_no = $4 AND COALESCE(step_id, '') = $5 AND COALESCE(file, '') = $6
   AND EXISTS (SELECT 1 FROM topics t WHERE t.topic_no = outbox.topic_no AND t.bridge = $7) RETURNING outbox_no
