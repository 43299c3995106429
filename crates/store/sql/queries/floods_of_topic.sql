SELECT payer, count FROM floods WHERE topic_no = $1 AND count > $2 ORDER BY payer
