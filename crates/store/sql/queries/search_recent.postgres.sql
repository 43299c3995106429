-- differs: the search index of SQLite is a file of its own beside the store.
-- The newest messages are looked at one by one, for what is in most of them: they are read first, so that
-- the index of words, which would give all that have the word, is not an option.
WITH recent AS MATERIALIZED (
    SELECT event_id, is_long, words FROM search_index WHERE event_id BETWEEN $1 AND $2
)
SELECT event_id FROM recent
 WHERE words @@ CAST(CAST($3 AS TEXT) AS TSQUERY) OR (is_long = 1 AND words @@ CAST(CAST($4 AS TEXT) AS TSQUERY))
 ORDER BY event_id DESC
 LIMIT $5
