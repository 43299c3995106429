SELECT a.name FROM entries e JOIN agents a ON a.agent_no = e.source_no
 WHERE e.thread_no = $1 AND e.event_type = 3 AND e.epoch = $2 AND e.lease_secret = $3
