SELECT * FROM proposal_rows WHERE thread_no = $1
