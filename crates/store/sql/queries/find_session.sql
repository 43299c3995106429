SELECT * FROM session_rows WHERE address = $1
