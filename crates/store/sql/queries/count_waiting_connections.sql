-- Requests of others that wait for a decision.
SELECT COUNT(*) FROM connections c JOIN agents a ON a.agent_no = c.agent_no WHERE a.name = $1 AND c.state <= 2
