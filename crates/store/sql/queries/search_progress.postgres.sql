-- differs: the search index of SQLite is a file of its own beside the store.
SELECT rules, through, documents FROM search_progress WHERE id = 1
