-- differs: the search index of SQLite is a file of its own beside the store.
SELECT month, stamp FROM search_archives ORDER BY month
