INSERT INTO artifacts (entry_no, path, kind, size, sha256, media_type, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING artifact_no
