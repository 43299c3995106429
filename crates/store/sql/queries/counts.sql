SELECT (SELECT COUNT(*) FROM threads), (SELECT COUNT(*) FROM entries WHERE kind IS NOT NULL),
       (SELECT COUNT(*) FROM entries), (SELECT COUNT(*) FROM agents)
