-- From where it was: two who take in one topic do not both go on.
UPDATE topics SET sequence = $1, time = $2, hash = $3, problem = NULL WHERE topic_no = $4 AND sequence = $5 RETURNING topic_no
