UPDATE deliveries SET is_acked = 1
 WHERE address_no = $1 AND is_acked = 0
   AND entry_no = COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = $2),
                  (SELECT k.entry_no FROM entries k WHERE k.entry_no = $2 AND k.message_no IS NULL))
