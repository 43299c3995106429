-- The oldest message after a cursor, of one of the kinds ($3, a set of bits), by somebody else.
SELECT * FROM message_rows
 WHERE thread_no = $1 AND event_id > $2 AND ($3 & (1 << kind)) <> 0
   AND (CAST($4 AS TEXT) IS NULL OR source <> $4)
 ORDER BY event_id
 LIMIT 1
