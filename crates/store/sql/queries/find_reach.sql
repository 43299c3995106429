SELECT reach_no, person, name, seen, summed, summed_at, sent, sent_at, tries, next_at, problem, problem_at FROM reaches
 WHERE person = $1 AND name = $2
