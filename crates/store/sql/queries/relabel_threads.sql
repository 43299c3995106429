-- A bare name that became a role's is written as the role in the threads that were sent to it.
UPDATE threads SET to_list = TRIM(REPLACE(' ' || to_list || ' ', CAST($1 AS TEXT), CAST($2 AS TEXT)))
 WHERE to_list IS NOT NULL AND thread_no IN (SELECT r.thread_no FROM recipients r WHERE r.address_no = $3)
