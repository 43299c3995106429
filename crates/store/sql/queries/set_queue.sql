UPDATE recipients SET queue = $1, held_until = $2
 WHERE thread_no = $3 AND address_no = (SELECT a.address_no FROM addresses a WHERE a.address = $4)
