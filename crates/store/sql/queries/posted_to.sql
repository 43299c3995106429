-- What was sent to an address ($1) before an event ($3), the newest first; acknowledged ($2 = 1) or not.
SELECT m.* FROM delivered v CROSS JOIN message_rows m
 WHERE m.entry_no = v.entry_no AND v.address_no = $1 AND v.is_acked = $2 AND v.event_id < $3
 ORDER BY v.event_id DESC
 LIMIT $4
