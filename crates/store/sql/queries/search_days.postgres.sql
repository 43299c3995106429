-- differs: the search index of SQLite is a file of its own beside the store.
SELECT COALESCE(MIN(first_event), 1), COALESCE(MAX(last_event), 0) FROM search_days WHERE day BETWEEN $1 AND $2
