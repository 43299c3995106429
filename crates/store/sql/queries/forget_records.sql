DELETE FROM records
