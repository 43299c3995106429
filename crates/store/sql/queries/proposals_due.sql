-- Those with which something is to be done.
SELECT * FROM proposal_rows WHERE agent = $1 AND next_at <= $2 AND state <= 5 ORDER BY proposal_no LIMIT $3
