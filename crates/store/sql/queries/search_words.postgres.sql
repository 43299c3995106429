-- differs: the search index of SQLite is a file of its own beside the store.
-- The words are found first, without their order: only the index of words can do that, and sorting so few is
-- nothing. With their order, unless not every place of each word is known.
WITH hits AS MATERIALIZED (
    SELECT event_id, is_long, words FROM search_index
     WHERE words @@ CAST(CAST($1 AS TEXT) AS TSQUERY) AND blocks && CAST(CAST($2 AS TEXT) AS BIGINT[])
)
SELECT event_id FROM hits
 WHERE (is_long = 1 OR words @@ CAST(CAST($3 AS TEXT) AS TSQUERY)) AND event_id BETWEEN $4 AND $5
 ORDER BY event_id DESC
 LIMIT $6
