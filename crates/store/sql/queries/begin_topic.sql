-- From where it was: two do not both make it.
UPDATE topics SET step_id = $1 WHERE topic_no = $2 AND topic IS NULL AND COALESCE(step_id, '') = $3 RETURNING topic_no
