SELECT state, COUNT(*) FROM records GROUP BY state ORDER BY state
