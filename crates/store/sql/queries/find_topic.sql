SELECT topic_no, place, name, topic, step_id, sequence, time, hash, problem, taken FROM topics WHERE place = $1 AND name = $2
