-- differs: the search index of SQLite is a file of its own beside the store.
-- One indexes at a time, for this schema. The number after that of the lock for the schema.
SELECT CAST(pg_advisory_xact_lock(1229867610, hashtext(current_schema())) AS TEXT)
