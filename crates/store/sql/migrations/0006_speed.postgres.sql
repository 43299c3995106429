-- differs: what a write costs on a server is its own matter; a file has one writer, and numbers events at insert anyway.

-- Which numbers a column may have is the program's to keep: it reads no other. Asked of PostgreSQL it is a text that is parsed
-- again for every statement that writes a row, a tenth of what a send cost.
ALTER TABLE threads DROP CONSTRAINT threads_check, DROP CONSTRAINT threads_status_check, DROP CONSTRAINT threads_priority_check,
    DROP CONSTRAINT threads_opened_by_kind_check, DROP CONSTRAINT threads_ref_type_check;
ALTER TABLE entries DROP CONSTRAINT entries_event_type_check, DROP CONSTRAINT entries_status_check, DROP CONSTRAINT entries_kind_check,
    DROP CONSTRAINT entries_auth_check, DROP CONSTRAINT entries_priority_check;
ALTER TABLE recipients DROP CONSTRAINT recipients_queue_check;
ALTER TABLE deliveries DROP CONSTRAINT deliveries_is_acked_check;

-- Only messages are looked for by who wrote them and when.
DROP INDEX entries_by_source;
CREATE INDEX entries_by_source ON entries (source_no, created_at) WHERE kind IS NOT NULL;

-- Until when a thread that is held (`queue` 2) was held when it was taken: no claim looks at it before. A lease that is
-- renewed ends later than this, and never earlier.
ALTER TABLE recipients ADD COLUMN held_until BIGINT NOT NULL DEFAULT 0;
UPDATE recipients r SET held_until = t.lease_until FROM threads t WHERE t.thread_no = r.thread_no AND r.queue = 2;
DROP INDEX recipients_held;
CREATE INDEX recipients_held ON recipients (address_no, held_until) WHERE queue = 2;

-- Numbers are given under one lock (…608), and no write waits for it.
DROP FUNCTION inbox_number(BIGINT, TEXT);
DROP FUNCTION inbox_number_now(BIGINT, TEXT);

-- The number of an event that is about to be inserted, by the last statements before a commit: behind all that was committed
-- without a number, which get theirs. Nothing while another has the lock: then the next one who has it gives the number, or
-- the next reader.
CREATE FUNCTION inbox_event() RETURNS BIGINT LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    newest    BIGINT;
    waiting   BIGINT;
    is_behind BOOLEAN;
BEGIN
    IF NOT pg_try_advisory_xact_lock(1229867608, hashtext(current_schema())) THEN
        RETURN NULL;
    END IF;
    -- READ COMMITTED gives each statement its own snapshot: this one has what the last one who numbered committed.
    SELECT (SELECT event_id FROM entries WHERE event_id IS NOT NULL ORDER BY event_id DESC LIMIT 1),
           EXISTS (SELECT 1 FROM entries WHERE event_id IS NULL)
      INTO newest, is_behind;
    newest := COALESCE(newest, 0);
    IF is_behind THEN
        -- By key, one at a time: a plan for all of them at once, made while the table was small, would read the whole table.
        FOR waiting IN SELECT entry_no FROM entries WHERE event_id IS NULL ORDER BY entry_no LOOP
            newest := newest + 1;
            UPDATE entries SET event_id = newest WHERE entry_no = waiting;
            UPDATE deliveries SET event_id = newest WHERE entry_no = waiting;
        END LOOP;
    END IF;
    RETURN newest + 1;
END $$;

-- Leaves nothing without a number that was committed before, for whoever reads.
CREATE FUNCTION inbox_number() RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF EXISTS (SELECT 1 FROM entries WHERE event_id IS NULL) THEN
        PERFORM pg_advisory_xact_lock(1229867608, hashtext(current_schema()));
        PERFORM inbox_event();
    END IF;
END $$;

DO $$ BEGIN PERFORM inbox_private('inbox_event', 'inbox_number'); END $$;
