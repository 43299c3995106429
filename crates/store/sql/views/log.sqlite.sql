-- differs: PostgreSQL has a view of this name, which shows what is numbered; here the key is the number.
SELECT entry_no AS event_id, * FROM entries
