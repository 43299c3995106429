-- differs: PostgreSQL numbers what is delivered behind the commit; here the key is the number.
SELECT address_no, is_acked, entry_no, entry_no AS event_id, expires_at FROM deliveries
