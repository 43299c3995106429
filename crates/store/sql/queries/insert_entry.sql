-- The key is the greatest one and 1, unless a message that was moved here has a number beyond it.
INSERT INTO entries (entry_no, thread_no, event_type, status, source_no, source_session, created_at, epoch, lease_secret,
                     lease_until, is_override, kind, to_no, auth, uid_random, parent_no, expires_at, message_type,
                     to_list, summary, body, payload, context, uid, hops, priority)
VALUES ((SELECT MAX(m.message_no) + 1 FROM entries m WHERE m.message_no > (SELECT MAX(e.entry_no) FROM entries e)),
        $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25)
