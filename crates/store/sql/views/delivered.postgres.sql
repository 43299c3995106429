-- differs: here what is delivered is numbered behind the commit, and seen then; SQLite's key is the number.
SELECT address_no, is_acked, entry_no, event_id, expires_at FROM deliveries WHERE event_id IS NOT NULL
