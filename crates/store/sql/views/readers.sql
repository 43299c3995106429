-- By what addresses each agent is reached, as reach and unread_rows have it for who reads without a session, and how far it has
-- read each. $1 is now; sessions seen since $2 are alive.
SELECT r.agent_no, r.address_no, r.mode, r.own, COALESCE(r.since, CAST($1 AS BIGINT)) AS now,
       COALESCE((SELECT MAX(b.read_to) FROM bookmarks b WHERE b.agent_no = r.agent_no AND b.address_no = r.address_no), 0) AS read_to
  FROM (SELECT a.agent_no, d.address_no, 1 AS mode, CAST(NULL AS TEXT) AS own, CAST(NULL AS BIGINT) AS since FROM agents a JOIN addresses d ON d.address = a.name
         UNION
        SELECT a.agent_no, d.address_no, 1, NULL, NULL FROM agents a JOIN addresses d ON d.address = 'human' WHERE a.kind = 2
         UNION
        SELECT s.agent_no, d.address_no, d.mode, CASE WHEN d.mode = 5 THEN substr(d.address, 2) END,
               CASE WHEN s.state = 2 AND s.address_no = d.address_no THEN s.changed_at END
          FROM sessions s JOIN memberships m ON m.session_no = s.session_no JOIN addresses d ON d.address_no = m.address_no
         WHERE (s.state = 1 AND s.seen_at > $2) OR s.state = 2) r
