-- differs: the search index of SQLite is a file of its own beside the store.
-- As in search_words; archives are not searched so often that blocks would pay.
WITH hits AS MATERIALIZED (
    SELECT archived_no, is_long, words FROM search_archived WHERE words @@ CAST(CAST($1 AS TEXT) AS TSQUERY)
)
SELECT a.archived_no, a.line FROM search_archived a
  JOIN (SELECT archived_no FROM hits
         WHERE (is_long = 1 OR words @@ CAST(CAST($2 AS TEXT) AS TSQUERY)) AND archived_no <= $3
         ORDER BY archived_no DESC
         LIMIT $4) h ON h.archived_no = a.archived_no
 ORDER BY a.archived_no DESC
