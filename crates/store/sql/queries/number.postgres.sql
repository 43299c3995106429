-- differs: only PostgreSQL has events without a number; the function is in the migration 0006.
SELECT CAST(inbox_number() AS TEXT)
