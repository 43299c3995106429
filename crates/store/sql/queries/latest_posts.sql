-- Every address of three modes ($2 to $4), and the newest event that was sent there and is acknowledged ($1 = 1) or not: what is lies
-- apart from the rest, and PostgreSQL would copy all that is delivered for a statement that asks for both.
SELECT d.address, (SELECT MAX(v.event_id) FROM delivered v WHERE v.address_no = d.address_no AND v.is_acked = $1)
  FROM addresses d
 WHERE d.mode IN ($2, $3, $4)
 ORDER BY d.address
 LIMIT $5
