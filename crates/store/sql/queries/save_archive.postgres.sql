-- differs: the search index of SQLite is a file of its own beside the store.
INSERT INTO search_archives (month, stamp) VALUES ($1, $2) ON CONFLICT (month) DO UPDATE SET stamp = excluded.stamp
