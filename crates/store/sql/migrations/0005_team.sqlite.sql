-- differs: a file has no roles and nobody to listen to; and its key of an entry is also the number of its event.

-- A message that was moved here from a store in PostgreSQL: its number there, which its id is made of. Here its key
-- is the number of its event.
ALTER TABLE entries ADD COLUMN message_no BIGINT;
CREATE UNIQUE INDEX entries_by_message ON entries (message_no) WHERE message_no IS NOT NULL;
