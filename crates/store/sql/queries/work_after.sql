-- Threads of work in which something happened after an event ($1): their run, and whom they are for.
SELECT t.thread_no, t.run_id, COALESCE(t.to_list, (SELECT d.address FROM addresses d WHERE d.address_no = t.to_no))
  FROM threads t
 WHERE t.opened_by_kind = 1 AND t.thread_no IN (SELECT l.thread_no FROM log l WHERE l.event_id > $1)
