-- A keyed command that is repeated after its thread was archived still has had its effect.
UPDATE replays SET entry_no = (SELECT MAX(e.entry_no) FROM entries e)
 WHERE entry_no IN (SELECT e.entry_no FROM entries e WHERE e.thread_no = $1)
