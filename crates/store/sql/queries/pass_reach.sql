UPDATE reaches SET seen = $1 WHERE reach_no = $2 AND seen < $1
