-- From where it was: two who say the same do not both go on.
UPDATE outbox SET step_id = $1, file = $2, content = $3, problem = NULL
 WHERE outbox_no = $4 AND COALESCE(step_id, '') = $5 AND COALESCE(file, '') = $6 RETURNING outbox_no
