SELECT o.outbox_no, a.name FROM outbox o JOIN agents a ON a.agent_no = o.agent_no WHERE o.uid = $1 AND o.topic_no = $2
