-- differs: what a write costs on a server is PostgreSQL's matter, and none of it is done here.

-- Until when a thread that is held (`queue` 2) was held when it was taken: no claim looks at it before. A lease that is
-- renewed ends later than this, and never earlier.
ALTER TABLE recipients ADD COLUMN held_until BIGINT NOT NULL DEFAULT 0;
UPDATE recipients SET held_until = (SELECT t.lease_until FROM threads t WHERE t.thread_no = recipients.thread_no) WHERE queue = 2;
DROP INDEX recipients_held;
CREATE INDEX recipients_held ON recipients (address_no, held_until) WHERE queue = 2;
