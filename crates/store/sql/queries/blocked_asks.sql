-- Held threads that are blocked and whose last word is a question, each with the question; those whose lease ends first, first.
SELECT v.*, m.* FROM thread_rows v JOIN message_rows m
    ON m.entry_no = COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = v.latest_message),
                         (SELECT k.entry_no FROM entries k WHERE k.entry_no = v.latest_message AND k.message_no IS NULL))
 WHERE v.thread_no IN (SELECT r.thread_no FROM recipients r WHERE r.queue = 2) AND v.status = 4 AND m.kind = 3
 ORDER BY v.lease_until
 LIMIT $1
