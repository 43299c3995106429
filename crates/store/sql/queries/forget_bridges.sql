-- Those that are gone, and the one that goes.
DELETE FROM bridges WHERE until <= $1 OR name = $2
