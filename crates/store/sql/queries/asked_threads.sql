-- Threads that a question to one address opened, that nobody has taken or called off and that end with a question still, each with
-- that question; the newest first.
SELECT v.*, m.* FROM recipients r JOIN thread_rows v ON v.thread_no = r.thread_no JOIN message_rows m
    ON m.entry_no = COALESCE((SELECT k.entry_no FROM entries k WHERE k.message_no = v.latest_message),
                         (SELECT k.entry_no FROM entries k WHERE k.entry_no = v.latest_message AND k.message_no IS NULL))
 WHERE r.address_no = $1 AND v.opened_by_kind = 3 AND v.status = 1 AND m.kind = 3
 ORDER BY r.thread_no DESC
 LIMIT $2
