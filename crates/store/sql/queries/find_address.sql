SELECT address_no FROM addresses WHERE address = $1
