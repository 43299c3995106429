-- What happened to work ($1 is the event after which), in as few words as drawing it needs; renewals and receipts do not count.
SELECT l.thread_no, l.event_type, l.status, l.created_at, t.run_id, COALESCE(t.to_list, d.address), t.opened_by_kind, t.subject
  FROM log l JOIN threads t ON t.thread_no = l.thread_no JOIN addresses d ON d.address_no = t.to_no
 WHERE l.event_id > $1 AND l.event_type NOT IN (4, 11, 12, 13)
   AND (CAST($2 AS TEXT) IS NULL OR t.run_id = $2)
 ORDER BY l.event_id
 LIMIT $3
