-- differs: SQLite's clock is the host's, which the process reads itself; PostgreSQL's is the server's.
SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)
