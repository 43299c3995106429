SELECT message_no FROM untold_rows LIMIT $13
