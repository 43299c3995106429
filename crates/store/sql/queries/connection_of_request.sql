SELECT * FROM connection_rows WHERE agent = $1 AND inbound = $2 AND request = $3
