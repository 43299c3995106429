-- differs: SQLite's clock is the host's, which the process reads itself; PostgreSQL's is the server's. With it, in one statement,
-- comes what most transactions begin with: whether a pooler stands between, whether something waits to be taken in,
-- whether something committed has no number yet, and the keys of a thread ($1) and an entry ($2) to be written.
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT), pg_backend_pid(),
       EXISTS (SELECT 1 FROM intake WHERE refusal IS NULL), EXISTS (SELECT 1 FROM entries WHERE event_id IS NULL),
       CASE WHEN CAST($1 AS BIGINT) = 1 THEN nextval('threads_thread_no_seq') END,
       CASE WHEN CAST($2 AS BIGINT) = 1 THEN nextval('entries_entry_no_seq') END
