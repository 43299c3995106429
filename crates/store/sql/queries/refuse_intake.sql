UPDATE intake SET refusal = $1 WHERE intake_no = $2
