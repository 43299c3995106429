-- One agent, or all of them; those taken off the roster only by name.
SELECT agent_no, name, kind, title, account_id, inbound_topic_id, outbound_topic_id, persona, card, created_at, seen_at,
       removed_at
  FROM agents
 WHERE (CAST($1 AS TEXT) IS NOT NULL AND name = $1) OR (CAST($1 AS TEXT) IS NULL AND removed_at IS NULL)
 ORDER BY name
