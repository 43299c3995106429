SELECT agent_no FROM agents WHERE name = $1
