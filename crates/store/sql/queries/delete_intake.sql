DELETE FROM intake WHERE intake_no = $1
