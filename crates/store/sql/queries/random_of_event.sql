SELECT uid_random FROM log WHERE event_id = $1 AND kind IS NOT NULL
