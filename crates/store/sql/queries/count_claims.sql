-- How often a name and a session have claimed a thread (event type 3).
SELECT COUNT(CASE WHEN source_no = $1 THEN 1 END), COUNT(CASE WHEN source_session = $2 THEN 1 END)
  FROM entries
 WHERE thread_no = $3 AND event_type = 3
