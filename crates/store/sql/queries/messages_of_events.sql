-- The messages of these events, each after its thread. A list of fixed length is one text on both databases.
SELECT v.*, m.* FROM message_rows m JOIN thread_rows v ON v.thread_no = m.thread_no
 WHERE m.event_id IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
                       $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)
 ORDER BY m.event_id DESC
