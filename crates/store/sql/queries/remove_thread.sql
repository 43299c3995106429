DELETE FROM threads WHERE thread_no = $1 AND version = $2 RETURNING thread_no
