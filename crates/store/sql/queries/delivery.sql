SELECT is_acked, expires_at FROM deliveries WHERE address_no = $1 AND entry_no = $2 AND is_acked IN (0, 1)
