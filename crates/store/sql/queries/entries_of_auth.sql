-- Messages whose sender was established so.
SELECT entry_no, COALESCE(message_no, entry_no) FROM entries
 WHERE auth = $1 AND entry_no > $2 AND kind IS NOT NULL
 ORDER BY entry_no LIMIT $3
