-- What was sent from here, or came in.
SELECT COUNT(*) FROM records WHERE uid = $1 AND state IN (1, 2)
