SELECT topic_no, place, name, topic, step_id, sequence, time, hash, problem FROM topics WHERE topic = $1
