-- differs: only PostgreSQL numbers events behind the commit. One numbers at a time, for this schema.
SELECT pg_advisory_xact_lock(1229867608, hashtext(current_schema()))
