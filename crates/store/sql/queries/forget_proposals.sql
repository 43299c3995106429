DELETE FROM proposals
