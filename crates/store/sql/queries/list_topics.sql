-- With $1, those that nobody has who is still there, and those that $1 has.
SELECT topic_no, place, name, topic, step_id, sequence, time, hash, problem, taken FROM topics
 WHERE CAST($1 AS TEXT) IS NULL OR bridge IS NULL OR bridge = $1 OR held_until <= $2
 ORDER BY topic_no
