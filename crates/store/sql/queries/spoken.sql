-- Who wrote a message, and how many it follows from.
SELECT source_no, hops FROM entries WHERE entry_no = $1
