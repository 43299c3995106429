-- With how many notices wait, since when the oldest of them is due, and how many were given up.
SELECT r.reach_no, r.person, r.name, r.seen, r.summed, r.summed_at, r.sent, r.sent_at, r.tries, r.next_at, r.problem, r.problem_at,
       (SELECT COUNT(*) FROM notices n WHERE n.reach_no = r.reach_no AND n.state = 0),
       (SELECT MIN(n.created_at) FROM notices n WHERE n.reach_no = r.reach_no AND n.state = 0 AND n.next_at <= $1),
       (SELECT COUNT(*) FROM notices n WHERE n.reach_no = r.reach_no AND n.state = 3)
  FROM reaches r ORDER BY r.person, r.name
