-- differs: only PostgreSQL numbers events behind the commit. Runs under the numbering lock, so that
-- the snapshot of this statement contains every earlier numbering. What is delivered has its event's number.
WITH numbered AS (
    UPDATE entries SET event_id = n.event_id
      FROM (SELECT u.entry_no,
                   (SELECT COALESCE(MAX(e.event_id), 0) FROM entries e) + ROW_NUMBER() OVER (ORDER BY u.entry_no) AS event_id
              FROM entries u
             WHERE u.event_id IS NULL) n
     WHERE entries.entry_no = n.entry_no
 RETURNING entries.entry_no, entries.event_id
)
UPDATE deliveries SET event_id = numbered.event_id FROM numbered WHERE deliveries.entry_no = numbered.entry_no
