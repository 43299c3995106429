UPDATE topics SET topic = $1, problem = NULL WHERE topic_no = $2 AND topic IS NULL
