SELECT name, inbound_topic_id FROM agents WHERE account_id = $1 ORDER BY name LIMIT 1
