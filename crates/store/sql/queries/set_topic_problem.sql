UPDATE topics SET problem = $1 WHERE topic_no = $2
