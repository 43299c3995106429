-- differs: only PostgreSQL numbers events behind the commit. Asks whether there is something to number.
SELECT 1 FROM entries WHERE event_id IS NULL LIMIT 1
