-- differs: only PostgreSQL has sequences.
SELECT nextval('entries_entry_no_seq')
