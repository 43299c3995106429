UPDATE entries SET to_list = TRIM(REPLACE(' ' || to_list || ' ', CAST($1 AS TEXT), CAST($2 AS TEXT)))
 WHERE to_list IS NOT NULL AND entry_no IN (SELECT d.entry_no FROM deliveries d WHERE d.address_no = $3)
