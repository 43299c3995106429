DELETE FROM notices WHERE reach_no = $1 AND state > 0 AND created_at < $2
