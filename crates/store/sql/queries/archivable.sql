-- Threads after $1 that are over, or expired before anybody claimed them, and have not changed since $2; oldest first. The
-- newest thread stays, and the one with the newest entry or the highest number: they must not be given again.
-- What waits for the ledger stays, too, and what has an event after $4, or one without a number yet: it has changed since
-- the archive began.
SELECT v.* FROM thread_rows v
 WHERE v.thread_no > $1
   AND v.updated_at < $2
   AND (v.status IN (5, 6, 7) OR (v.status = 1 AND v.attempts = 0 AND v.expires_at <= $3))
   AND v.thread_no < (SELECT MAX(t.thread_no) FROM threads t)
   AND v.thread_no <> (SELECT e.thread_no FROM entries e ORDER BY e.entry_no DESC LIMIT 1)
   AND v.thread_no <> COALESCE((SELECT e.thread_no FROM entries e
                                 WHERE e.message_no > (SELECT MAX(k.entry_no) FROM entries k)
                                 ORDER BY e.message_no DESC LIMIT 1), 0)
   AND v.thread_no NOT IN (SELECT e.thread_no FROM outbox o JOIN entries e ON e.entry_no = o.entry_no)
   AND NOT EXISTS (SELECT 1 FROM entries e LEFT JOIN log l ON l.entry_no = e.entry_no
                    WHERE e.thread_no = v.thread_no AND (l.event_id IS NULL OR l.event_id > $4))
 ORDER BY v.thread_no
 LIMIT $5
