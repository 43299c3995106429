DELETE FROM deliveries WHERE address_no = $1
