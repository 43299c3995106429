SELECT c.connection_no, a.name AS agent, c.inbound, c.request, c.role, c.state, c.other, c.other_inbound, c.other_name, c.memo, c.topic,
       c.confirmed, c.reached, c.thread_no, c.question_no, c.step, c.step_id, c.decided_by, c.reason, c.tries, c.next_at, c.problem, c.rev,
       c.created_at
  FROM connections c JOIN agents a ON a.agent_no = c.agent_no
