UPDATE deliveries SET is_acked = 1 WHERE address_no = $1 AND is_acked = 0 AND entry_no = $2
