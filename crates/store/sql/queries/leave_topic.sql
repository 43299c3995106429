UPDATE topics SET bridge = NULL, held_until = 0 WHERE topic_no = $1 AND bridge = $2
