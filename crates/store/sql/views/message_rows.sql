SELECT COALESCE(l.message_no, l.entry_no) AS message_no, l.event_id, l.thread_no,
       (SELECT a.name FROM agents a WHERE a.agent_no = l.source_no) AS source,
       l.source_session, l.created_at, l.kind,
       (SELECT d.address FROM addresses d WHERE d.address_no = l.to_no) AS to_first,
       l.to_list, l.auth, l.uid_random, l.parent_no, l.expires_at, l.message_type,
       l.summary, l.body, l.payload, l.context, l.uid, l.hops,
       COALESCE(l.priority, (SELECT t.priority FROM threads t WHERE t.thread_no = l.thread_no)) AS priority,
       l.source_no, l.event_type, l.entry_no
  FROM log l
 WHERE l.kind IS NOT NULL
