SELECT digest, entry_no, answer FROM replays WHERE agent_no = $1 AND key = $2
