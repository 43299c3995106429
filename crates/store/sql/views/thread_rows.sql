SELECT t.thread_no, t.version, t.status, t.priority, t.opened_by_kind, t.attempts, t.epoch,
       (SELECT a.name FROM agents a WHERE a.agent_no = t.creator_no) AS creator,
       (SELECT d.address FROM addresses d WHERE d.address_no = t.to_no) AS to_first,
       t.to_list,
       (SELECT a.name FROM agents a WHERE a.agent_no = t.holder_no) AS holder,
       t.holder_session, t.lease_secret, t.lease_ms, t.claimed_at, t.lease_until,
       t.latest_message, t.created_at, t.updated_at, t.expires_at,
       t.ref_type, t.ref_id, t.run_id, t.task_id, t.subject,
       t.creator_no, t.holder_no, t.to_no, t.turns
  FROM threads t
