-- Where a bridge has something to say now, or to hear for the first time; those that nobody has too, without a bridge.
SELECT DISTINCT o.topic_no, CASE WHEN t.bridge = $1 THEN 1 ELSE 0 END
  FROM outbox o JOIN topics t ON t.topic_no = o.topic_no
 WHERE o.sequence IS NULL AND o.next_at <= $2 AND (t.bridge IS NULL OR t.bridge = $1 OR t.held_until <= $2)
 UNION
SELECT n.topic_no, 0 FROM topics n WHERE n.topic IS NOT NULL AND n.bridge IS NULL
