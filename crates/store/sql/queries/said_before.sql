-- How often an agent said the same to the same since $7, among the last $2 that it wrote.
SELECT COUNT(*)
  FROM (SELECT e.to_no, e.summary, e.body, e.payload, e.created_at FROM entries e
         WHERE e.source_no = $1 AND e.kind IS NOT NULL ORDER BY e.created_at DESC LIMIT $2) s
 WHERE s.to_no = $3 AND s.summary = $4 AND COALESCE(s.body, '') = $5 AND COALESCE(s.payload, '') = $6 AND s.created_at > $7
