-- The address of who opened a thread, whom most of its messages are for.
SELECT d.address_no, d.address
  FROM threads t JOIN agents a ON a.agent_no = t.creator_no JOIN addresses d ON d.address = a.name
 WHERE t.thread_no = $1
