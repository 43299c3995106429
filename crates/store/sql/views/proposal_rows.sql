SELECT p.proposal_no, p.connection_no, a.name AS agent, c.topic, p.sequence, p.schedule, p.proposer, p.said, p.state, p.sort, p.amount,
       p.does, p.thread_no, p.step_id, p.decided_by, p.reason, p.tries, p.next_at, p.problem, p.rev, p.created_at
  FROM proposals p JOIN connections c ON c.connection_no = p.connection_no JOIN agents a ON a.agent_no = c.agent_no
