-- As shift_deliveries, for the threads.
UPDATE recipients
   SET expires_at = expires_at + $1 - (SELECT CASE WHEN t.created_at > $2 THEN t.created_at ELSE $2 END
                                         FROM threads t WHERE t.thread_no = recipients.thread_no)
 WHERE address_no = $3 AND expires_at > $2
