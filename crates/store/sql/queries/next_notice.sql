SELECT MIN(next_at) FROM notices WHERE reach_no = $1 AND state = 0
