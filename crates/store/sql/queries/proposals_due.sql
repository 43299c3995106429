-- Those with which something is to be done, the longest due first.
SELECT * FROM proposal_rows WHERE next_at <= $1 AND state <= 5 ORDER BY next_at, proposal_no LIMIT $2
