SELECT * FROM session_rows
 WHERE (CAST($1 AS TEXT) IS NULL OR agent = $1)
 ORDER BY session_no
