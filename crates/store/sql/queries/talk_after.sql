-- Who wrote to whom after an event ($1), and how often; the busiest first. Counted by numbers, and only those that are given get
-- their names.
SELECT a.name, d.address, q.times
  FROM (SELECT l.source_no, l.to_no, COUNT(*) AS times FROM log l
         WHERE l.event_id > $1 AND l.kind IS NOT NULL
           AND (CAST($2 AS TEXT) IS NULL OR EXISTS (SELECT 1 FROM threads t WHERE t.thread_no = l.thread_no AND t.run_id = $2))
         GROUP BY l.source_no, l.to_no
         ORDER BY times DESC, l.source_no, l.to_no
         LIMIT $3) q
  JOIN agents a ON a.agent_no = q.source_no JOIN addresses d ON d.address_no = q.to_no
 ORDER BY q.times DESC, a.name, d.address
