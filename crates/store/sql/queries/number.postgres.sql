-- differs: only PostgreSQL numbers events behind the commit; the function is in the migration 0005.
SELECT inbox_number($1, $2)
