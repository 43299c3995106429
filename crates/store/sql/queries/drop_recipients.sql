DELETE FROM recipients WHERE address_no = $1
