-- differs: only PostgreSQL numbers events behind the commit. Runs under the numbering lock, so that
-- the snapshot of this statement contains every earlier numbering.
UPDATE entries SET event_id = n.event_id
  FROM (SELECT u.entry_no,
               (SELECT COALESCE(MAX(e.event_id), 0) FROM entries e) + ROW_NUMBER() OVER (ORDER BY u.entry_no) AS event_id
          FROM entries u
         WHERE u.event_id IS NULL) n
 WHERE entries.entry_no = n.entry_no
