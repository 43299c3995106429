-- Whether somebody holds or held a role.
SELECT 1 FROM memberships WHERE address_no = $1 LIMIT 1
