-- differs: PostgreSQL has the number of the event here, too, in the order of which a reader walks.
INSERT INTO deliveries (address_no, is_acked, entry_no, expires_at, event_id)
SELECT $1, 0, e.entry_no, $3, e.event_id FROM entries e WHERE e.entry_no = $2
