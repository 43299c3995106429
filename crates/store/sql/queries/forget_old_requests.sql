-- What was never open has no proposals. The number is no limit: SQLite wants one before an offset.
DELETE FROM connections WHERE connection_no IN (
       SELECT c.connection_no FROM connections c JOIN agents a ON a.agent_no = c.agent_no
        WHERE a.name = $1 AND (c.role = $2 AND c.state IN ($3, $4) OR c.state = $3 AND c.problem = $5)
          AND NOT EXISTS (SELECT 1 FROM proposals p WHERE p.connection_no = c.connection_no)
        ORDER BY c.connection_no DESC LIMIT 1000000000 OFFSET $6)
