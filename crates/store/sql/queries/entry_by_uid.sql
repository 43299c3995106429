SELECT entry_no FROM entries WHERE uid = $1
