SELECT MIN(thread_no) FROM recipients WHERE address_no = $1
