-- What was to be said where nobody can be reached any more.
DELETE FROM outbox WHERE topic_no IN (SELECT t.topic_no FROM topics t WHERE t.place = $1)
