SELECT seal FROM agents WHERE name = $1
