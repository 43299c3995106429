-- differs: SQLite parses the whole schema in every process, so its views stand in the statements that
-- read them (sql/views).
DROP VIEW thread_rows;
DROP VIEW message_rows;
DROP VIEW event_rows;
DROP VIEW log;
