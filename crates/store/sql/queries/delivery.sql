SELECT 1 FROM deliveries
 WHERE address_no = $1 AND is_acked IN (0, 1)
   AND entry_no = COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = $2),
                  (SELECT k.entry_no FROM entries k WHERE k.entry_no = $2 AND k.message_no IS NULL))
