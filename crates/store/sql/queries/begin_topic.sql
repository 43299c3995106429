-- Only by who has it, and from where it was: two do not both make it.
UPDATE topics SET step_id = $1 WHERE topic_no = $2 AND topic IS NULL AND COALESCE(step_id, '') = $3 AND bridge = $4 RETURNING topic_no
