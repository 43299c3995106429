UPDATE agents
   SET kind = $1, title = $2, account_id = $3, inbound_topic_id = $4, outbound_topic_id = $5, persona = $6, card = $7,
       removed_at = $8
 WHERE agent_no = $9
