UPDATE recipients SET queue = $1
 WHERE thread_no = $2 AND address_no = (SELECT a.address_no FROM addresses a WHERE a.address = $3)
