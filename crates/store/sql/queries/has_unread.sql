-- Whether a thread has a message by somebody else that lacks the agent's read receipt (step 3).
SELECT 1 FROM entries e
 WHERE e.thread_no = $1 AND e.kind IS NOT NULL AND e.source_no <> $2
   AND NOT EXISTS (SELECT 1 FROM receipts r WHERE r.entry_no = e.entry_no AND r.step = 3 AND r.address_no = 0 AND r.agent_no = $2)
 LIMIT 1
