-- Every address of three modes, and the newest event that was sent there; what is acknowledged lies apart from the rest.
SELECT d.address,
       (SELECT MAX(v.event_id) FROM delivered v WHERE v.address_no = d.address_no AND v.is_acked = 0),
       (SELECT MAX(v.event_id) FROM delivered v WHERE v.address_no = d.address_no AND v.is_acked = 1)
  FROM addresses d
 WHERE d.mode IN ($1, $2, $3)
 ORDER BY d.address
 LIMIT $4
