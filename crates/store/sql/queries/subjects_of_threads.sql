-- What these threads are called. A list of fixed length is one text on both databases.
SELECT t.thread_no, t.subject FROM threads t
 WHERE t.thread_no IN ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18,
                       $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32)
