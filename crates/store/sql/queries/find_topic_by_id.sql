SELECT topic_no, place, name, topic, step_id, sequence, time, hash, problem, taken FROM topics WHERE topic = $1
