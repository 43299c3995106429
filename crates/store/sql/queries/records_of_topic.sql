SELECT sequence, time, payer, hash, state, uid, reason, content FROM records WHERE topic_no = $1 AND sequence > $2 ORDER BY sequence LIMIT $3
