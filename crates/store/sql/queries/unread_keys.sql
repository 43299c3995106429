-- Keys and not a count: a message with several addresses may be unread by more than one of them.
SELECT entry_no FROM unread_rows LIMIT $9
