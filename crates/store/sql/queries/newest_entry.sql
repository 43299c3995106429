SELECT MAX(entry_no) FROM entries
