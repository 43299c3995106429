INSERT INTO addresses (mode, address) VALUES ($1, $2)
ON CONFLICT (address) DO UPDATE SET address = excluded.address
RETURNING address_no
