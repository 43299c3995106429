SELECT s.session_no, s.session_id, a.name AS agent, s.agent_no, s.state, s.started_at, s.seen_at, s.changed_at, s.client,
       s.address_no, d.address
  FROM sessions s JOIN agents a ON a.agent_no = s.agent_no JOIN addresses d ON d.address_no = s.address_no
