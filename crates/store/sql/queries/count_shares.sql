-- How many topics there are to be divided, and between how many.
SELECT (SELECT COUNT(*) FROM topics), (SELECT COUNT(*) FROM bridges WHERE until > $1)
