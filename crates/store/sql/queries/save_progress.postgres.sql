-- differs: the search index of SQLite is a file of its own beside the store.
INSERT INTO search_progress (id, rules, through, documents) VALUES (1, $1, $2, $3)
ON CONFLICT (id) DO UPDATE SET rules = excluded.rules, through = excluded.through, documents = excluded.documents
