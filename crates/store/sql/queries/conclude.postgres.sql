-- differs: the last statement of a write in PostgreSQL. Tells those who listen, while there is somebody ($1 is what rang), and
-- gives the number of the entry $2, or of the newest event without one: that is the last one written, when it was numbered.
SELECT CASE WHEN CAST($2 AS BIGINT) IS NULL
            THEN (SELECT e.event_id FROM entries e WHERE e.event_id IS NOT NULL ORDER BY e.event_id DESC LIMIT 1)
            ELSE (SELECT e.event_id FROM entries e WHERE e.entry_no = $2) END,
       (SELECT CAST(pg_notify('inbox:' || current_schema(), CAST($1 AS TEXT)) AS TEXT)
         WHERE EXISTS (SELECT 1 FROM listeners l WHERE l.until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000))
