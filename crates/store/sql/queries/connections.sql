SELECT * FROM connection_rows ORDER BY connection_no
