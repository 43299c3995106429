-- Of a message before others that were judged: a topic that is read again has it twice.
INSERT INTO records (topic_no, sequence, time, payer, hash, state, uid, reason, content) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (topic_no, sequence) DO NOTHING RETURNING sequence
