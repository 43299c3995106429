-- A message expires with the last of its addresses: later, when that of a session ($1) that woke at $2 is the last.
UPDATE entries
   SET expires_at = (SELECT d.expires_at FROM deliveries d
                      WHERE d.address_no = $1 AND d.is_acked = 0 AND d.entry_no = entries.entry_no)
 WHERE entry_no IN (SELECT d.entry_no FROM deliveries d WHERE d.address_no = $1 AND d.is_acked = 0 AND d.expires_at > $2)
   AND expires_at < (SELECT d.expires_at FROM deliveries d
                      WHERE d.address_no = $1 AND d.is_acked = 0 AND d.entry_no = entries.entry_no)
