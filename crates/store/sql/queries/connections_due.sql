-- Those with which something is to be done, the longest due first.
SELECT * FROM connection_rows WHERE next_at <= $1 AND state <= 8 ORDER BY next_at, connection_no LIMIT $2
