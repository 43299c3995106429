DELETE FROM recipients WHERE address_no = $1 AND thread_no = $2
