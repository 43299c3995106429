INSERT INTO reaches (person, name, seen, summed, summed_at, sent, tries, next_at) VALUES ($1, $2, 0, 0, $3, 0, 0, 0)
ON CONFLICT (person, name) DO NOTHING RETURNING reach_no
