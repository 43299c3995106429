-- differs: PostgreSQL's keys come from a sequence, ahead of the row, so that what refers to it goes in one piece.
INSERT INTO entries (thread_no, event_type, status, source_no, source_session, created_at, epoch, lease_secret,
                     lease_until, is_override, kind, to_no, auth, uid_random, parent_no, expires_at, message_type,
                     to_list, summary, body, payload, context, uid, hops, priority, entry_no)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
        $26)
