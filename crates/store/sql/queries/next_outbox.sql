-- When the first of what is not said yet may be tried.
SELECT MIN(o.next_at) FROM outbox o JOIN topics t ON t.topic_no = o.topic_no WHERE t.bridge = $1 AND o.sequence IS NULL
