-- differs: PostgreSQL's keys come from a sequence, ahead of the row, so that what refers to it goes in one piece; and the
-- event's number comes with the row when nothing but the commit is left to do ($27) and nobody else is numbering.
INSERT INTO entries (thread_no, event_type, status, source_no, source_session, created_at, epoch, lease_secret,
                     lease_until, is_override, kind, to_no, auth, uid_random, parent_no, expires_at, message_type,
                     to_list, summary, body, payload, context, uid, hops, priority, entry_no, event_id)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
        $26, CASE WHEN CAST($27 AS BIGINT) = 1 THEN inbox_event() END)
