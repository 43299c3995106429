-- From how it was: of two who sum up at once, one does.
UPDATE reaches SET summed = $1, summed_at = $2 WHERE reach_no = $3 AND summed_at = $4 RETURNING reach_no
