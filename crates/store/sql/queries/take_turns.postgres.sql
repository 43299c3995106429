-- differs: SQLite has one writer at a time anyway.
-- Who has met others in one thread again and again takes turns with those who have, too. The number after that of the sequencer.
SELECT CAST(pg_advisory_xact_lock(1229867612, hashtext(current_schema())) AS TEXT)
