-- Only what nobody has begun to say.
DELETE FROM outbox WHERE topic_no = $1 AND step_id IS NULL AND sequence IS NULL AND agent_no = (SELECT agent_no FROM agents WHERE name = $2)
RETURNING outbox_no
