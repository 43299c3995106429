INSERT INTO threads (version, status, priority, opened_by_kind, creator_no, to_no, to_list, attempts, epoch, created_at,
                     updated_at, expires_at, ref_type, ref_id, run_id, task_id, subject, latest_message)
VALUES (1, $1, $2, $3, $4, $5, $6, 0, 0, $7, $7, $8, $9, $10, $11, $12, $13, $14)
