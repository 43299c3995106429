SELECT address_no, mode FROM addresses WHERE address = $1
