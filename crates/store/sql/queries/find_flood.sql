SELECT count FROM floods WHERE topic_no = $1 AND payer = $2
