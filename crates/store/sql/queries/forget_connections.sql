DELETE FROM connections
