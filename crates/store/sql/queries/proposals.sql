SELECT * FROM proposal_rows ORDER BY proposal_no
