-- The compare-and-set that commits a decision: it takes effect only on the version it was made for.
UPDATE threads
   SET version = version + 1, status = $1, attempts = $2, epoch = $3, holder_no = $4, holder_session = $5,
       lease_secret = $6, lease_ms = $7, claimed_at = $8, lease_until = $9, latest_message = $10, updated_at = $11,
       turns = $12
 WHERE thread_no = $13 AND version = $14
