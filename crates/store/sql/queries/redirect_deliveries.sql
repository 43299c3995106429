UPDATE deliveries SET address_no = $1
 WHERE address_no = $2
   AND NOT EXISTS (SELECT 1 FROM deliveries o WHERE o.address_no = $1 AND o.is_acked IN (0, 1) AND o.entry_no = deliveries.entry_no)
