SELECT * FROM connection_rows WHERE topic = $1 ORDER BY connection_no
