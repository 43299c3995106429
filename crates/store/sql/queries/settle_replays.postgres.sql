-- differs: in SQLite an entry's key is the number of its event, which needs no entry; here the number goes with the entry. What a key
-- answered is given the number itself (negative), before its thread is archived: all at once, because replays are not kept by entry.
-- The newest event up to which that is so: events get their numbers in the order in which they can be seen.
WITH settled AS (
    UPDATE replays r SET entry_no = -e.event_id FROM entries e
     WHERE e.entry_no = r.entry_no AND e.event_id IS NOT NULL
 RETURNING 1
)
SELECT COALESCE(MAX(e.event_id), 0) FROM entries e
