INSERT INTO records (topic_no, sequence, time, payer, hash, state, uid, reason, content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
