-- What one session of an agent has passed concerns the agent no more ($2 is negative where any session counts).
SELECT MAX(read_to) FROM bookmarks WHERE agent_no = $1 AND ($2 < 0 OR session_no = $2) AND address_no = $3
