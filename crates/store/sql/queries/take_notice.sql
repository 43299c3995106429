-- Of two who find one due, one has it, until then.
UPDATE notices SET next_at = $1, tries = tries + 1 WHERE notice_no = $2 AND state = 0 AND next_at <= $3 RETURNING tries
