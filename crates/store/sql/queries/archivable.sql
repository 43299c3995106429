-- Threads that are over, or expired before anybody claimed them, and have not changed since $1; oldest first. The
-- newest thread stays, and the one with the newest entry or the highest number: they must not be given again.
-- What waits for the ledger stays, too.
SELECT v.* FROM thread_rows v
 WHERE v.updated_at < $1
   AND (v.status IN (5, 6, 7) OR (v.status = 1 AND v.attempts = 0 AND v.expires_at <= $2))
   AND v.thread_no < (SELECT MAX(t.thread_no) FROM threads t)
   AND v.thread_no <> (SELECT e.thread_no FROM entries e ORDER BY e.entry_no DESC LIMIT 1)
   AND v.thread_no <> COALESCE((SELECT e.thread_no FROM entries e
                                 WHERE e.message_no > (SELECT MAX(k.entry_no) FROM entries k)
                                 ORDER BY e.message_no DESC LIMIT 1), 0)
   AND v.thread_no NOT IN (SELECT e.thread_no FROM outbox o JOIN entries e ON e.entry_no = o.entry_no)
 ORDER BY v.thread_no
 LIMIT $3
