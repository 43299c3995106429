-- What waits, or what was refused ($1 is 1), in the order in which it was written.
SELECT intake_no, uid, is_ack, to_agent, from_agent, message_type, subject, payload, context, ref_id, ref_type, priority, session,
       written_at, refusal
  FROM intake
 WHERE (refusal IS NULL) = ($1 = 0)
 ORDER BY intake_no
 LIMIT $2
