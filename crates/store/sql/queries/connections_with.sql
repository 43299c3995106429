SELECT * FROM connection_rows WHERE agent = $1 AND other = $2 ORDER BY connection_no
