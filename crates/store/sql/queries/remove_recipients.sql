-- Those of threads from $1 to $2 that are gone. They are kept by address: to look through all of them for each thread takes longer than
-- all the rest of an archive.
DELETE FROM recipients
 WHERE address_no IN (SELECT a.address_no FROM addresses a)
   AND thread_no BETWEEN $1 AND $2
   AND NOT EXISTS (SELECT 1 FROM threads t WHERE t.thread_no = recipients.thread_no)
