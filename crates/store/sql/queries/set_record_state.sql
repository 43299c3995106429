UPDATE records SET state = $1, reason = $2 WHERE topic_no = $3 AND sequence = $4
