SELECT v.* FROM thread_rows v WHERE v.ref_id = $1 AND v.ref_type = $2 ORDER BY v.thread_no DESC LIMIT $3
