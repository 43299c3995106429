INSERT INTO floods (topic_no, payer, count) VALUES ($1, $2, $3)
ON CONFLICT (topic_no, payer) DO UPDATE SET count = floods.count + excluded.count
