-- differs: the compare-and-set that commits a decision, by a statement that fails where nothing was set: the commit goes
-- in the same piece, and is not reached then.
WITH changed AS (
    UPDATE threads
       SET version = version + 1, status = $1, attempts = $2, epoch = $3, holder_no = $4, holder_session = $5,
           lease_secret = $6, lease_ms = $7, claimed_at = $8, lease_until = $9, latest_message = $10, updated_at = $11,
           turns = $12
     WHERE thread_no = $13 AND version = $14
 RETURNING version
)
SELECT COALESCE((SELECT version FROM changed), inbox_raced())
