-- The message whose UUID was made of these: ten of its bits are the key's last, so that one key in 1,024 is looked at.
WITH RECURSIVE candidates (entry_no) AS (
    SELECT CAST($1 AS BIGINT)
     UNION ALL
    SELECT entry_no + 1024 FROM candidates WHERE entry_no + 1024 <= (SELECT MAX(e.entry_no) FROM entries e)
)
SELECT e.entry_no FROM candidates c JOIN entries e ON e.entry_no = c.entry_no
 WHERE e.created_at = $2 AND e.uid_random = $3 AND e.uid IS NULL
 LIMIT 1
