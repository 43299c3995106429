-- differs: the search index of SQLite is a file of its own beside the store.
INSERT INTO search_archived (archived_no, line, is_long, words)
SELECT d.number, d.line, d.is_long, CAST(d.words AS TSVECTOR)
  FROM json_to_recordset(CAST(CAST($1 AS TEXT) AS JSON)) AS d(number BIGINT, line TEXT, is_long SMALLINT, words TEXT)
