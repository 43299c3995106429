-- differs: only PostgreSQL has schemas to publish in.
SELECT 1 FROM inbox_publish($1, $2)
