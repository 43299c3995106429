-- differs: the search index of SQLite is a file of its own beside the store.
DELETE FROM search_archived WHERE archived_no BETWEEN $1 AND $2
