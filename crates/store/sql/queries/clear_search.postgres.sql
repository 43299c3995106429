-- differs: the search index of SQLite is a file of its own beside the store.
WITH words AS (DELETE FROM search_index), days AS (DELETE FROM search_days)
DELETE FROM search_progress
