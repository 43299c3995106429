-- differs: what a team needs is PostgreSQL's: numbering in one round trip, who listens, roles, schemas to publish in.

-- Always null here, where a message's number is its key and the event's is beside it: SQLite has one key for both.
ALTER TABLE entries ADD COLUMN message_no BIGINT;
CREATE UNIQUE INDEX entries_by_message ON entries (message_no) WHERE message_no IS NOT NULL;
DROP VIEW log;
CREATE VIEW log AS SELECT * FROM entries WHERE event_id IS NOT NULL;

-- Hosts on which somebody waits. Notifications are sent only while there is one.
CREATE TABLE listeners (
    listener TEXT NOT NULL PRIMARY KEY,
    until    BIGINT NOT NULL
);

-- That a row refers to one that is there is the program's to keep and the doctor's to check. Asked of the database it is a
-- lock on the other row, and the row of a busy agent is everybody's.
ALTER TABLE threads DROP CONSTRAINT threads_creator_no_fkey, DROP CONSTRAINT threads_to_no_fkey, DROP CONSTRAINT threads_holder_no_fkey;
ALTER TABLE entries DROP CONSTRAINT entries_thread_no_fkey, DROP CONSTRAINT entries_source_no_fkey, DROP CONSTRAINT entries_to_no_fkey;
ALTER TABLE recipients DROP CONSTRAINT recipients_address_no_fkey, DROP CONSTRAINT recipients_thread_no_fkey;
ALTER TABLE receipts DROP CONSTRAINT receipts_entry_no_fkey, DROP CONSTRAINT receipts_agent_no_fkey;
ALTER TABLE replays DROP CONSTRAINT replays_agent_no_fkey, DROP CONSTRAINT replays_entry_no_fkey;
-- Room beside a row for its next version, which then needs no new place in the indexes.
ALTER TABLE threads SET (fillfactor = 70);

-- Numbers are given under two locks: who has the first one (…608) gives them, and who wants one waits for the second (…611),
-- beside all others who do, until what was given is on disk.

-- Numbers what is committed and has no number, and what this transaction wrote, when nobody else does; and tells those who
-- listen, while there is somebody. Gives the number of `mine`. Otherwise gives nothing, and the commit need not wait for the
-- disk: inbox_number comes next, and does.
CREATE FUNCTION inbox_number_now(mine BIGINT, slots TEXT) RETURNS BIGINT LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    store   INTEGER := hashtext(current_schema());
    newest  BIGINT;
    waiting BIGINT;
    given   BIGINT;
BEGIN
    IF NOT pg_try_advisory_xact_lock(1229867608, store) THEN
        PERFORM set_config('synchronous_commit', 'off', true);
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(1229867611, store);
    -- READ COMMITTED gives each statement its own snapshot: this one has what the last one who numbered committed.
    newest := COALESCE((SELECT event_id FROM entries WHERE event_id IS NOT NULL ORDER BY event_id DESC LIMIT 1), 0);
    -- By key, one at a time: a plan for all of them at once, made while the table was small, would read the whole table.
    FOR waiting IN SELECT entry_no FROM entries WHERE event_id IS NULL ORDER BY entry_no LOOP
        newest := newest + 1;
        UPDATE entries SET event_id = newest WHERE entry_no = waiting;
        UPDATE deliveries SET event_id = newest WHERE entry_no = waiting;
        IF waiting = mine THEN
            given := newest;
        END IF;
    END LOOP;
    IF slots IS NOT NULL AND EXISTS (SELECT 1 FROM listeners WHERE until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000) THEN
        PERFORM pg_notify('inbox:' || current_schema(), slots);
    END IF;
    RETURN COALESCE(given, (SELECT event_id FROM entries WHERE entry_no = mine));
END $$;

-- The number of a committed entry, or nothing when it has none yet after somebody else's numbering: then ask again. Without
-- one, nothing that was committed before is left without a number. Whoever finds a number that another gave need not wait
-- for the disk: numbers are on disk before they are seen.
CREATE FUNCTION inbox_number(mine BIGINT, slots TEXT) RETURNS BIGINT LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    store INTEGER := hashtext(current_schema());
    given BIGINT;
BEGIN
    IF mine IS NULL THEN
        IF EXISTS (SELECT 1 FROM entries WHERE event_id IS NULL) THEN
            PERFORM pg_advisory_xact_lock(1229867608, store);
            PERFORM inbox_number_now(NULL, NULL);
        END IF;
        RETURN NULL;
    END IF;
    SELECT event_id INTO given FROM entries WHERE entry_no = mine;
    IF given IS NULL THEN
        IF pg_try_advisory_xact_lock(1229867608, store) THEN
            RETURN inbox_number_now(mine, slots);
        END IF;
        PERFORM pg_advisory_xact_lock_shared(1229867611, store);
        SELECT event_id INTO given FROM entries WHERE entry_no = mine;
    END IF;
    IF given IS NOT NULL AND EXISTS (SELECT 1 FROM listeners WHERE until > EXTRACT(EPOCH FROM clock_timestamp()) * 1000) THEN
        PERFORM pg_notify('inbox:' || current_schema(), slots);
    END IF;
    RETURN given;
END $$;

-- What a compare-and-set calls that found another version: the same again, from the start, may succeed.
CREATE FUNCTION inbox_raced() RETURNS BIGINT LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    RAISE EXCEPTION 'the thread was changed at the same time' USING ERRCODE = 'serialization_failure';
END $$;

-- Who may do what: the owner of the store and the members of that role, and nobody else. This section stays the last of its
-- file and names all tables; a later step that makes a table, a view or a function ends with inbox_private on it.

-- Takes these tables, views and functions of the store from everybody but its owner. Default privileges, such as Supabase's
-- of everything to everybody, give rights to what is made later: a schema cannot take back what is granted for all schemas,
-- so each thing is taken back by itself. Without a policy, row security shows nothing to others, whatever they are granted.
CREATE FUNCTION inbox_private(VARIADIC names TEXT[]) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    here     OID := to_regnamespace(quote_ident(current_schema()));
    owner_no OID := (SELECT c.relowner FROM pg_class c WHERE c.relnamespace = here AND c.relname = 'meta');
    thing    RECORD;
    other    OID;
BEGIN
    FOR thing IN
        WITH relations AS (
            SELECT c.oid, c.relkind, c.relowner, c.relacl, c.relrowsecurity, c.reltype, c.relname FROM pg_class c
             WHERE c.relnamespace = here AND c.relname = ANY (names) AND c.relkind IN ('r', 'p', 'v', 'm')
        )
        -- Keys' sequences come before their tables: they follow them to another owner by themselves.
        SELECT 1 AS turn, 'SEQUENCE' AS sort, s.oid::regclass::text AS name, s.relowner AS had, false AS is_open,
               s.relacl AS acl, r.relname AS asked
          FROM relations r JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = r.oid AND d.deptype IN ('a', 'i')
          JOIN pg_class s ON s.oid = d.objid AND d.classid = 'pg_class'::regclass AND s.relkind = 'S'
        UNION ALL
        SELECT 2, 'TYPE', t.oid::regtype::text, t.typowner, false, COALESCE(t.typacl, acldefault('T', t.typowner)), r.relname
          FROM relations r JOIN pg_type t ON t.oid = r.reltype
        UNION ALL
        SELECT 3, 'TABLE', r.oid::regclass::text, r.relowner, r.relkind IN ('r', 'p') AND NOT r.relrowsecurity,
               r.relacl || (SELECT array_agg(x) FROM pg_attribute a CROSS JOIN unnest(a.attacl) AS x WHERE a.attrelid = r.oid), r.relname
          FROM relations r
        UNION ALL
        SELECT 4, 'FUNCTION', p.oid::regprocedure::text, p.proowner, false, COALESCE(p.proacl, acldefault('f', p.proowner)), p.proname
          FROM pg_proc p WHERE p.pronamespace = here AND p.proname = ANY (names)
        ORDER BY turn
    LOOP
        names := array_remove(names, thing.asked::text);
        FOR other IN SELECT DISTINCT g.grantee FROM aclexplode(thing.acl) g WHERE g.grantee NOT IN (thing.had, owner_no) LOOP
            EXECUTE format('REVOKE ALL ON %s %s FROM %s CASCADE', thing.sort, thing.name,
                           CASE other WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(other)) END);
        END LOOP;
        IF thing.is_open THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', thing.name);
        END IF;
        -- Another member of the owner may bring the store up to date.
        IF thing.had <> owner_no AND thing.sort IN ('TABLE', 'FUNCTION') THEN
            EXECUTE format('ALTER %s %s OWNER TO %I', thing.sort, thing.name, pg_get_userbyid(owner_no));
        END IF;
    END LOOP;
    IF names <> '{}' THEN
        RAISE EXCEPTION 'the store has no %', array_to_string(names, ', ');
    END IF;
END $$;

-- Shows the view `inbox` in another schema, and lets a role read it, write to it and acknowledge; an empty one is nobody. What
-- is there under that name and not ours is never replaced. The view belongs to the owner of the store, so that a role needs no
-- right on what is below it, but one: PostgreSQL asks whoever reads a view for the right to its functions. It follows the
-- store's own view, which a later step has to replace in place: its columns are settled.
CREATE FUNCTION inbox_publish(target TEXT, grantee TEXT) RETURNS void LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    store    TEXT := current_schema();
    owner_no OID := (SELECT c.relowner FROM pg_class c WHERE c.oid = 'meta'::regclass);
    found_no OID;
    other    OID;
BEGIN
    -- The lock of changes to the schema.
    PERFORM pg_advisory_xact_lock(1229867609, hashtext(store));
    SELECT c.oid INTO found_no FROM pg_class c WHERE c.relnamespace = to_regnamespace(quote_ident(target)) AND c.relname = 'inbox';
    IF found_no IS NULL THEN
        EXECUTE format('CREATE VIEW %I.inbox AS SELECT id, to_agent, from_agent, message_type, subject, payload, context, ref_id,
            ref_type, priority, processed, processed_at, processed_by_session, created_at FROM %I.inbox', target, store);
        EXECUTE format('CREATE TRIGGER inbox_intake INSTEAD OF INSERT OR UPDATE OR DELETE ON %I.inbox
            FOR EACH ROW EXECUTE FUNCTION %I.inbox_intake()', target, store);
        EXECUTE format('COMMENT ON VIEW %I.inbox IS %L', target, 'Mail of the store in the schema ' || store || ', made by inbox init');
        FOR other IN SELECT DISTINCT g.grantee FROM pg_class c CROSS JOIN aclexplode(c.relacl) g
                      WHERE c.relnamespace = to_regnamespace(quote_ident(target)) AND c.relname = 'inbox'
                        AND g.grantee NOT IN (c.relowner, owner_no) LOOP
            EXECUTE format('REVOKE ALL ON TABLE %I.inbox FROM %s CASCADE', target,
                           CASE other WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(other)) END);
        END LOOP;
        EXECUTE format('REVOKE ALL ON TYPE %I.inbox FROM PUBLIC', target);
        IF owner_no <> to_regrole(quote_ident(current_user)) THEN
            EXECUTE format('ALTER VIEW %I.inbox OWNER TO %I', target, pg_get_userbyid(owner_no));
        END IF;
    ELSIF target = store OR NOT EXISTS (SELECT 1 FROM pg_trigger t WHERE t.tgrelid = found_no AND t.tgfoid = 'inbox_intake'::regproc) THEN
        RAISE EXCEPTION '%.inbox is not what this store published', target USING ERRCODE = 'duplicate_table';
    END IF;
    IF grantee <> '' THEN
        -- "public" in quotes would still be everybody.
        IF to_regrole(quote_ident(grantee)) IS NULL THEN
            RAISE EXCEPTION 'there is no role %', grantee USING ERRCODE = 'undefined_object';
        END IF;
        EXECUTE format('GRANT SELECT, INSERT, UPDATE ON %I.inbox TO %I', target, grantee);
        EXECUTE format('GRANT EXECUTE ON FUNCTION inbox_json(text) TO %I', grantee);
    END IF;
END $$;

DO $$
DECLARE
    here   OID := to_regnamespace(quote_ident(current_schema()));
    tables TEXT[] := ARRAY['meta', 'agents', 'addresses', 'threads', 'entries', 'artifacts', 'recipients', 'receipts', 'replays',
                           'sessions', 'memberships', 'deliveries', 'bookmarks', 'intake', 'search_index', 'search_days',
                           'search_progress', 'search_archives', 'search_archived', 'listeners', 'log', 'inbox'];
    functions TEXT[] := ARRAY['inbox_json', 'inbox_intake', 'inbox_number', 'inbox_number_now', 'inbox_raced', 'inbox_private', 'inbox_publish'];
    granted RECORD;
BEGIN
    -- What a caller has on its path, or made for itself in pg_temp, is not found by them.
    EXECUTE 'ALTER FUNCTION inbox_json(text) SET search_path = pg_catalog, pg_temp';
    -- As the owner of the store, which whoever writes to a published view is not.
    EXECUTE format('ALTER FUNCTION inbox_intake() SECURITY DEFINER SET search_path = pg_catalog, %I, pg_temp', current_schema());
    PERFORM inbox_private(VARIADIC tables || functions);

    -- A schema of the store's own is closed as a whole. One that others use stays as it is.
    IF current_schema() = 'public' OR NOT pg_has_role((SELECT n.nspowner FROM pg_namespace n WHERE n.oid = here), 'USAGE')
       OR EXISTS (SELECT 1 FROM pg_class c WHERE c.relnamespace = here AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relname <> ALL (tables))
       OR EXISTS (SELECT 1 FROM pg_proc p WHERE p.pronamespace = here AND p.proname <> ALL (functions)) THEN
        RETURN;
    END IF;
    FOR granted IN
        SELECT DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END AS grantee
          FROM pg_namespace n CROSS JOIN aclexplode(n.nspacl) g
         WHERE n.oid = here AND g.grantee NOT IN (n.nspowner, (SELECT c.relowner FROM pg_class c WHERE c.oid = 'meta'::regclass))
    LOOP
        EXECUTE format('REVOKE ALL ON SCHEMA %I FROM %s CASCADE', current_schema(), granted.grantee);
    END LOOP;
    FOR granted IN
        SELECT DISTINCT CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'FUNCTIONS' ELSE 'TYPES' END AS sort,
               CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END AS grantee, pg_get_userbyid(d.defaclrole) AS maker
          FROM pg_default_acl d CROSS JOIN aclexplode(d.defaclacl) g
         WHERE d.defaclnamespace = here AND g.grantee <> d.defaclrole AND pg_has_role(d.defaclrole, 'USAGE')
    LOOP
        EXECUTE format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I REVOKE ALL ON %s FROM %s', granted.maker, current_schema(),
                       granted.sort, granted.grantee);
    END LOOP;
END $$;
