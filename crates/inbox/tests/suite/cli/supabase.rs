//! A cluster as Supabase sets one up, and everything that a role may do to a schema in it.

use std::sync::OnceLock;

use inbox_testkit::cluster::Cluster;
use inbox_testkit::sandbox::Sandbox;

use super::desk::Desk;
use crate::INBOX;

/// The roles behind the keys that are in every browser, and the one behind the secret key. The store's
/// owner is a plain role; the database's superuser is not ours there.
const ROLES: &str = "
    CREATE ROLE anon; CREATE ROLE authenticated; CREATE ROLE service_role BYPASSRLS;
    CREATE ROLE app LOGIN; CREATE ROLE other LOGIN;
    GRANT CREATE ON DATABASE inbox TO app, other;
    GRANT USAGE ON SCHEMA public TO anon, authenticated, service_role;
    GRANT CREATE, USAGE ON SCHEMA public TO app;
    ALTER DEFAULT PRIVILEGES FOR ROLE app GRANT ALL ON TABLES TO anon, authenticated, service_role;
    ALTER DEFAULT PRIVILEGES FOR ROLE app GRANT ALL ON SEQUENCES TO anon, authenticated, service_role;
    ALTER DEFAULT PRIVILEGES FOR ROLE app GRANT ALL ON FUNCTIONS TO anon, authenticated, service_role;
    ALTER DEFAULT PRIVILEGES FOR ROLE app GRANT ALL ON TYPES TO anon, authenticated, service_role;
    ALTER DEFAULT PRIVILEGES FOR ROLE app GRANT ALL ON SCHEMAS TO anon, authenticated, service_role;
    CREATE SCHEMA scratch; GRANT ALL ON SCHEMA scratch TO PUBLIC;
    CREATE FUNCTION scratch.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
    CREATE TABLE scratch.own_anon (a INT); ALTER TABLE scratch.own_anon OWNER TO anon;
    CREATE TABLE scratch.own_authenticated (a INT); ALTER TABLE scratch.own_authenticated OWNER TO authenticated;
    CREATE TABLE scratch.own_service_role (a INT); ALTER TABLE scratch.own_service_role OWNER TO service_role;
    CREATE FUNCTION scratch.attempt(statement TEXT) RETURNS TEXT LANGUAGE plpgsql AS $$
    BEGIN
        EXECUTE statement;
        RAISE EXCEPTION USING ERRCODE = 'P0099';
    EXCEPTION
        WHEN insufficient_privilege THEN RETURN 'denied';
        WHEN SQLSTATE 'P0099' THEN RETURN 'allowed';
        WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM;
    END $$";

pub(super) fn supabase() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let cluster = Cluster::start();
        cluster.psql(ROLES);
        cluster
    })
}

/// The URL of a store of `user` in a schema that no other test has, and the schema.
pub(super) fn fresh(user: &str) -> (String, String) {
    let url = supabase().fresh_url();
    let schema = url.rsplit('=').next().unwrap().to_owned();
    (url.replace("inbox@", &format!("{user}@")), schema)
}

/// A store that `app` made, and its schema.
pub(super) fn store() -> (Desk, String) {
    let (url, schema) = fresh("app");
    let inbox = Sandbox::at(INBOX, url);
    (Desk { inbox }, schema)
}

/// Every right on something of a schema that one of these roles has, by the catalog.
pub(super) fn rights(schema: &str, roles: &[&str]) -> Vec<String> {
    asked(schema, roles, true)
}

/// Every right that there is, whether somebody has it or not.
pub(super) fn askable(schema: &str, roles: &[&str]) -> Vec<String> {
    asked(schema, roles, false)
}

fn asked(schema: &str, roles: &[&str], only_held: bool) -> Vec<String> {
    let held = |test: &str| if only_held { test } else { "true" }.to_owned();
    let roles = roles.join("', '");
    let sql = format!(
        "WITH who AS (SELECT unnest(ARRAY['{roles}']) AS r), here AS (SELECT '{schema}'::regnamespace::oid AS n)
         SELECT r, 'schema', v, n::regnamespace::text FROM who, here, unnest(ARRAY['USAGE', 'CREATE']) v WHERE {}
         UNION ALL
         SELECT r, 'relation', v, relname FROM who, here, pg_class c, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER']) v
          WHERE relnamespace = n AND relkind IN ('r', 'p', 'v', 'm', 'f') AND {}
         UNION ALL
         SELECT r, 'column', v, relname || '.' || attname FROM who, here, pg_class c, pg_attribute a, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'REFERENCES']) v
          WHERE relnamespace = n AND relkind IN ('r', 'p', 'v', 'm', 'f') AND attrelid = c.oid AND NOT attisdropped AND attnum > 0 AND {}
         UNION ALL
         SELECT r, 'sequence', v, relname FROM who, here, pg_class c, unnest(ARRAY['USAGE', 'SELECT', 'UPDATE']) v
          WHERE relnamespace = n AND relkind = 'S' AND {}
         UNION ALL
         SELECT r, 'function', 'EXECUTE', proname FROM who, here, pg_proc p WHERE pronamespace = n AND {}
         UNION ALL
         SELECT r, 'type', 'USAGE', typname FROM who, here, pg_type t WHERE typnamespace = n AND typelem = 0 AND {}
         ORDER BY 1, 2, 4, 3",
        held("has_schema_privilege(r, n, v)"),
        held("has_table_privilege(r, c.oid, v)"),
        held("has_column_privilege(r, c.oid, attnum, v)"),
        // It fails on what is no sequence, and conditions have no order.
        held("CASE relkind WHEN 'S' THEN has_sequence_privilege(r, c.oid, v) END"),
        held("has_function_privilege(r, p.oid, 'EXECUTE')"),
        held("has_type_privilege(r, t.oid, 'USAGE')"),
    );
    lines(&supabase().psql(&sql))
}

/// The tables of a schema that show their rows to whoever was granted them.
pub(super) fn without_row_security(schema: &str) -> Vec<String> {
    lines(&supabase().psql(&format!(
        "SELECT relname FROM pg_class WHERE relnamespace = '{schema}'::regnamespace AND relkind IN ('r', 'p') AND NOT relrowsecurity"
    )))
}

/// Attempts everything on everything of a schema as a role. How many attempts there were, and those that
/// were not denied.
pub(super) fn attempts(schema: &str, role: &str) -> (usize, Vec<String>) {
    let sql = format!(
        "SET ROLE {role};
         WITH here AS (SELECT oid AS n FROM pg_namespace WHERE nspname = '{schema}'),
         relation AS (
             SELECT c.oid, c.relkind, format('%I.%I', '{schema}', relname) AS name,
                    (SELECT quote_ident(attname) FROM pg_attribute WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum LIMIT 1) AS first
               FROM pg_class c, here WHERE relnamespace = n),
         statement AS (
             SELECT format(s, name, first) AS s FROM relation, unnest(ARRAY['SELECT 1 FROM %1$s', 'SELECT %2$s FROM %1$s', 'INSERT INTO %1$s DEFAULT VALUES', 'UPDATE %1$s SET %2$s = NULL', 'DELETE FROM %1$s']) s
              WHERE relkind IN ('r', 'p', 'v')
             UNION ALL
             SELECT format(s, name) FROM relation, unnest(ARRAY['TRUNCATE %1$s', 'LOCK TABLE %1$s', 'ALTER TABLE %1$s DISABLE ROW LEVEL SECURITY', 'DROP TABLE %1$s CASCADE',
                    'CREATE TRIGGER planted BEFORE INSERT ON %1$s FOR EACH ROW EXECUTE FUNCTION scratch.nothing()']) s
              WHERE relkind IN ('r', 'p')
             UNION ALL
             SELECT format('CREATE TABLE scratch.refers (%s, FOREIGN KEY (%s) REFERENCES %s (%s))',
                           string_agg(format('%I %s', attname, format_type(atttypid, NULL)), ', '), string_agg(quote_ident(attname), ', '), name, string_agg(quote_ident(attname), ', '))
               FROM relation r JOIN pg_index i ON indrelid = r.oid AND indisprimary JOIN pg_attribute a ON attrelid = r.oid AND attnum = ANY (indkey::int2[]) GROUP BY name
             UNION ALL
             SELECT format('CREATE TABLE scratch.has_type (a %s)', name) FROM relation WHERE relkind IN ('r', 'p', 'v')
             UNION ALL
             SELECT format(s, name) FROM relation, unnest(ARRAY['SELECT nextval(%1$L)', 'SELECT currval(%1$L)', 'SELECT setval(%1$L, 1)', 'SELECT last_value FROM %1$s']) s WHERE relkind = 'S'
             UNION ALL
             SELECT format('SELECT %I.%I(%s)', '{schema}', proname, (SELECT string_agg(CASE WHEN o = pronargs AND provariadic <> 0 THEN 'VARIADIC ' ELSE '' END || format('NULL::%s', format_type(t, NULL)), ', ') FROM unnest(proargtypes) WITH ORDINALITY AS u (t, o)))
               FROM pg_proc, here WHERE pronamespace = n
             UNION ALL
             SELECT format('CREATE TRIGGER planted BEFORE INSERT ON scratch.own_{role} FOR EACH ROW EXECUTE FUNCTION %I.%I()', '{schema}', proname) FROM pg_proc, here WHERE pronamespace = n AND prorettype = 'trigger'::regtype
             UNION ALL
             SELECT format(s, '{schema}') FROM unnest(ARRAY['CREATE TABLE %I.planted (a INT)', 'CREATE VIEW %I.planted AS SELECT 1', 'CREATE FUNCTION %I.planted() RETURNS INT LANGUAGE sql AS ''SELECT 1''', 'DROP SCHEMA %I CASCADE', 'ALTER SCHEMA %I RENAME TO planted']) s
         )
         SELECT scratch.attempt(s), s FROM statement"
    );
    let all = lines(&supabase().psql(&sql));
    let got: Vec<_> = all
        .iter()
        .filter(|line| !line.starts_with("denied|"))
        .cloned()
        .collect();
    (all.len(), got)
}

pub(super) fn lines(text: &str) -> Vec<String> {
    text.lines().map(str::to_owned).collect()
}
