-- differs: only PostgreSQL numbers events apart from their rows; the function is in the migration 0005.
SELECT inbox_number_now($1, $2)
