DELETE FROM meta WHERE name = 'ledger_check'
