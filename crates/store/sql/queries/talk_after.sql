-- Who wrote to whom after an event ($1), and how often; the busiest first.
SELECT a.name, d.address, COUNT(*) AS times FROM log l JOIN agents a ON a.agent_no = l.source_no JOIN addresses d ON d.address_no = l.to_no
  JOIN threads t ON t.thread_no = l.thread_no
 WHERE l.event_id > $1 AND l.kind IS NOT NULL AND (CAST($2 AS TEXT) IS NULL OR t.run_id = $2)
 GROUP BY a.name, d.address
 ORDER BY times DESC, a.name, d.address
 LIMIT $3
