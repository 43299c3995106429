SELECT address FROM addresses WHERE mode = $1 ORDER BY address
