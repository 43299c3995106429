-- differs: only PostgreSQL has events without a number. Gives one to those that the transaction wrote, when nobody else is
-- numbering.
SELECT inbox_event()
