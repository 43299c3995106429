INSERT INTO bridges (name, until) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET until = excluded.until
