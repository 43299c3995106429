-- What a bare name can be an address of: a session ($1), an agent ($2), a role ($3).
SELECT address_no, mode, address FROM addresses WHERE address IN ($1, $2, $3)
