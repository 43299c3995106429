-- By which door of its client a session was told of a message; nothing where none was named.
ALTER TABLE receipts ADD COLUMN door SMALLINT;
