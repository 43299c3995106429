-- From how it was: two who go on with one do not both do so.
UPDATE proposals SET state = $1, sort = $2, amount = $3, does = $4, thread_no = $5, step_id = $6, decided_by = $7, reason = $8, tries = $9,
       next_at = $10, problem = $11, rev = rev + 1
 WHERE proposal_no = $12 AND rev = $13 RETURNING rev
