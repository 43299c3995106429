UPDATE agents SET seal = $1 WHERE agent_no = $2
