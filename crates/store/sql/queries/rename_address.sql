UPDATE addresses SET address = $1, mode = $2 WHERE address_no = $3
