-- The payload of the message that opened a thread (event type 1).
SELECT payload FROM entries WHERE thread_no = $1 AND event_type = 1 LIMIT 1
