-- A bare name that was open (8) belongs to the agent that took it.
UPDATE addresses SET mode = 1 WHERE address = $1 AND mode = 8
