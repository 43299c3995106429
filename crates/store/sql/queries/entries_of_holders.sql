-- Messages of those who had a topic of this place when they wrote them.
SELECT e.entry_no, COALESCE(e.message_no, e.entry_no)
  FROM entries e JOIN agents a ON a.agent_no = e.source_no JOIN topics t ON t.place = $1 AND t.name = a.name
 WHERE e.entry_no > $2 AND e.kind IS NOT NULL AND e.created_at > t.created_at
 ORDER BY e.entry_no LIMIT $3
