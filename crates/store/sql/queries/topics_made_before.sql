-- Whether the topic was there before that moment.
SELECT topic_no FROM topics WHERE topic_no = $1 AND created_at < $2
