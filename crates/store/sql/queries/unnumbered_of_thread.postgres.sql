-- differs: only PostgreSQL numbers events behind the commit. Asks whether a thread ($1) has one without a number.
SELECT 1 FROM entries WHERE event_id IS NULL AND thread_no = $1 LIMIT 1
