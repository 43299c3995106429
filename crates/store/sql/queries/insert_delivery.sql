INSERT INTO deliveries (address_no, is_acked, entry_no, expires_at) VALUES ($1, 0, $2, $3)
