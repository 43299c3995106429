UPDATE entries SET to_no = $1
 WHERE to_no = $2 AND entry_no IN (SELECT d.entry_no FROM deliveries d WHERE d.address_no = $2)
