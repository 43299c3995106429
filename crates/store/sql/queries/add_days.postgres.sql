-- differs: the search index of SQLite is a file of its own beside the store.
INSERT INTO search_days AS s (day, first_event, last_event)
SELECT d.day, d.first_event, d.last_event
  FROM json_to_recordset(CAST(CAST($1 AS TEXT) AS JSON)) AS d(day BIGINT, first_event BIGINT, last_event BIGINT)
    ON CONFLICT (day) DO UPDATE SET first_event = LEAST(s.first_event, excluded.first_event),
                                    last_event = GREATEST(s.last_event, excluded.last_event)
