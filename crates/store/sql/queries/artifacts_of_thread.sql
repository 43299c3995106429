SELECT a.artifact_no, COALESCE(l.message_no, l.entry_no), a.path, a.kind, a.size, a.sha256, a.media_type, a.created_at
  FROM artifacts a JOIN log l ON l.entry_no = a.entry_no
 WHERE l.thread_no = $1
 ORDER BY a.artifact_no
