-- Those with which something is to be done.
SELECT * FROM connection_rows WHERE agent = $1 AND next_at <= $2 AND state <= 8 ORDER BY connection_no LIMIT $3
