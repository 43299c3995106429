-- What is put into an inbox late stands before the bookmarks: they begin again, and receipts tell what was read.
DELETE FROM bookmarks WHERE address_no = $1
