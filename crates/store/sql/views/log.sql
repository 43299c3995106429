SELECT entry_no AS event_id, * FROM entries
