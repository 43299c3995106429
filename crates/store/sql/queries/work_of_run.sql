-- Threads of work of one run ($1), and whom they are for.
SELECT t.thread_no, t.run_id, COALESCE(t.to_list, (SELECT d.address FROM addresses d WHERE d.address_no = t.to_no))
  FROM threads t
 WHERE t.opened_by_kind = 1 AND t.run_id = $1
