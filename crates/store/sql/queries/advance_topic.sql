-- From where it was: two who take in one topic do not both go on.
UPDATE topics SET sequence = $1, time = $2, hash = $3, taken = $4, problem = NULL
 WHERE topic_no = $5 AND sequence = $6 AND taken = $7 RETURNING topic_no
