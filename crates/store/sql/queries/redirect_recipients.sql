UPDATE recipients SET address_no = $1
 WHERE address_no = $2
   AND NOT EXISTS (SELECT 1 FROM recipients o WHERE o.address_no = $1 AND o.thread_no = recipients.thread_no)
