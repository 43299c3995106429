-- From how it was: two who go on with one do not both do so.
UPDATE connections SET state = $1, other_inbound = $2, other_name = $3, memo = $4, topic = $5, confirmed = $6, reached = $7, thread_no = $8,
       question_no = $9, step = $10, step_id = $11, decided_by = $12, reason = $13, tries = $14, next_at = $15, problem = $16, rev = rev + 1
 WHERE connection_no = $17 AND rev = $18 RETURNING rev
