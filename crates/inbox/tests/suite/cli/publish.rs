//! `init --publish-inbox`: the view `inbox` in another schema, for a role that has no right on the store.

use super::desk::{Desk, keys, said, summaries, text};
use super::sqlview::COLUMNS;
use super::supabase::{attempts, fresh, lines, rights, store, supabase};
use inbox_testkit::sandbox::Sandbox;

use crate::INBOX;

/// A store whose view is published in a schema of its own, and what `service_role` can do with it.
struct Published {
    desk: Desk,
    store: String,
    shown: String,
}

impl Published {
    fn new() -> Self {
        let (desk, store) = store();
        let shown = format!("shown_{store}");
        supabase().psql(&format!(
            "SET ROLE app; CREATE SCHEMA {shown}; REVOKE CREATE ON SCHEMA {shown} FROM anon, authenticated, service_role; GRANT USAGE ON SCHEMA {shown} TO anon, authenticated, service_role"
        ));
        let made = desk.ok(&format!(
            "init --publish-inbox {shown} --grant service_role"
        ));
        assert_eq!(made["published"]["schema"], shown.as_str());
        assert_eq!(made["published"]["view"], "inbox");
        assert_eq!(made["published"]["granted"][0], "service_role");
        Published { desk, store, shown }
    }

    /// As a client that knows the view, under whatever it sets before.
    fn sql_after(&self, before: &str, sql: &str) -> Result<String, String> {
        let Published { shown, .. } = self;
        let path = format!("SET search_path TO {shown}");
        supabase().psql_as(
            "inbox",
            &format!("SET ROLE service_role; {path}; {before}; {sql}"),
        )
    }

    #[track_caller]
    fn sql(&self, sql: &str) -> String {
        self.sql_after("SELECT", sql)
            .unwrap_or_else(|error| panic!("{sql}: {error}"))
    }

    #[track_caller]
    fn insert(&self, subject: &str) {
        self.sql(&insert(subject));
    }
}

fn insert(subject: &str) -> String {
    format!(
        "INSERT INTO inbox (to_agent, from_agent, message_type, subject, payload) \
         VALUES ('backend', 'reviewer', 'fyi', '{subject}', '{{\"a\": 1}}')"
    )
}

#[test]
fn the_published_view_has_the_columns_of_the_table_and_shows_what_is_sent() {
    let table = Published::new();
    let Published { store, shown, .. } = &table;
    let columns = |schema: &str| {
        lines(&supabase().psql(&format!(
            "SELECT column_name, udt_name FROM information_schema.columns
              WHERE table_schema = '{schema}' AND table_name = 'inbox' ORDER BY ordinal_position"
        )))
    };
    let names: Vec<_> = columns(shown)
        .iter()
        .map(|line| line.split('|').next().unwrap().to_owned())
        .collect();
    assert_eq!(names, COLUMNS);
    assert_eq!(columns(shown), columns(store));
    table
        .desk
        .ok("send --from lead --to backend --subject Work --body Words");
    let row = table.sql("SELECT to_agent, from_agent, subject, payload ->> 'body' FROM inbox");
    assert_eq!(row, "backend|lead|Work|Words");
}

#[test]
fn what_a_granted_role_inserts_arrives_and_processed_acknowledges() {
    let table = Published::new();
    let id = table.sql(&format!("{} RETURNING id", insert("Plain")));
    let mail = table.desk.ok("read --agent backend");
    assert_eq!(summaries(&mail), ["Plain"]);
    assert_eq!(mail["messages"][0]["uid"], id.as_str());
    assert_eq!(mail["messages"][0]["verified"], false);
    assert_eq!(mail["messages"][0]["payload_json"]["a"], 1);
    table
        .desk
        .ok("send --from lead --to backend --kind event --subject Two");
    table.sql("UPDATE inbox SET processed = true WHERE to_agent = 'backend' AND NOT processed");
    assert_eq!(table.sql("SELECT count(*) FROM inbox WHERE processed"), "2");
    table.desk.nothing("read --agent backend");
    let message = text(&mail["messages"][0]["message_id"]);
    let ladder = table.desk.ok(&format!("receipts {message}"));
    assert_eq!(ladder["receipts"][0]["step"], "acked");
}

#[test]
fn what_the_rules_refuse_is_a_dead_letter_as_for_everybody() {
    let table = Published::new();
    for (to, from) in [
        ("backend", "human"),
        ("a b", "reviewer"),
        ("backend", "a b"),
    ] {
        table.sql(&format!(
            "INSERT INTO inbox (to_agent, from_agent, message_type, subject) VALUES ('{to}', '{from}', 'fyi', 'x')"
        ));
    }
    table.insert("Good");
    let mail = table.desk.ok("read --agent backend");
    assert_eq!(summaries(&mail), ["Good"]);
    let dead = table.desk.ok("dead-letters");
    let letters = dead["letters"].as_array().unwrap();
    assert_eq!(letters.len(), 3);
    assert!(letters.iter().all(|letter| letter["reason"] == "refused"));
    for sql in [
        "UPDATE inbox SET subject = 'x'",
        "UPDATE inbox SET processed = false",
        "UPDATE inbox SET to_agent = 'x', processed = true",
    ] {
        let error = table.sql_after("SELECT", sql).unwrap_err();
        assert!(error.contains("not changed otherwise"), "{sql}: {error}");
    }
}

#[test]
fn nothing_is_deleted_whoever_asks() {
    let table = Published::new();
    table.insert("Stays");
    let error = table.sql_after("SELECT", "DELETE FROM inbox").unwrap_err();
    assert!(
        error.contains("permission denied for view inbox"),
        "{error}"
    );
    let shown = &table.shown;
    supabase().psql(&format!("GRANT DELETE ON {shown}.inbox TO service_role"));
    for user in ["app", "inbox"] {
        let delete = format!("DELETE FROM {shown}.inbox");
        let error = supabase().psql_as(user, &delete).unwrap_err();
        assert!(error.contains("never deleted"), "{error}");
    }
    let error = table.sql_after("SELECT", "DELETE FROM inbox").unwrap_err();
    assert!(error.contains("never deleted"), "{error}");
    assert_eq!(table.sql("SELECT subject FROM inbox"), "Stays");
}

#[test]
fn a_granted_role_can_do_nothing_else_and_the_others_nothing() {
    let table = Published::new();
    table.insert("One");
    table.desk.ok("list");
    let Published { store, shown, .. } = &table;
    let mut held = rights(shown, &["anon", "authenticated", "service_role"]);
    held.retain(|line| !line.contains("|column|"));
    assert_eq!(
        held,
        [
            "anon|schema|USAGE|".to_owned() + shown,
            "authenticated|schema|USAGE|".to_owned() + shown,
            "service_role|relation|INSERT|inbox".to_owned(),
            "service_role|relation|SELECT|inbox".to_owned(),
            "service_role|relation|UPDATE|inbox".to_owned(),
            "service_role|schema|USAGE|".to_owned() + shown,
        ]
    );
    // PostgreSQL asks whoever reads a view for the right to its functions. It reads nothing, and without
    // a right on the schema it has no name.
    assert_eq!(
        rights(store, &["anon", "authenticated", "service_role"]),
        ["service_role|function|EXECUTE|inbox_json"]
    );
    for role in ["anon", "authenticated", "service_role"] {
        assert_eq!(attempts(store, role).1, [""; 0]);
        let (_, got) = attempts(shown, role);
        let allowed: Vec<_> = got
            .iter()
            .filter(|line| line.starts_with("allowed|"))
            .collect();
        let wanted: &[String] = &[
            format!("allowed|INSERT INTO {shown}.inbox DEFAULT VALUES"),
            format!("allowed|SELECT 1 FROM {shown}.inbox"),
            format!("allowed|SELECT id FROM {shown}.inbox"),
        ];
        let mut found: Vec<_> = allowed.into_iter().cloned().collect();
        found.sort();
        assert_eq!(found, if role == "service_role" { wanted } else { &[] });
    }
}

#[test]
fn what_a_caller_puts_on_its_path_or_in_pg_temp_redirects_nothing() {
    let table = Published::new();
    let evil = format!("evil_{}", table.store);
    supabase().psql(&format!(
        "CREATE SCHEMA {evil}; GRANT ALL ON SCHEMA {evil} TO service_role; SET ROLE service_role;
         CREATE FUNCTION {evil}.to_jsonb(a TEXT) RETURNS JSONB LANGUAGE sql AS 'SELECT ''\"stolen\"''::jsonb';
         CREATE FUNCTION {evil}.gen_random_uuid() RETURNS UUID LANGUAGE sql AS 'SELECT NULL::uuid';
         CREATE FUNCTION {evil}.clock_timestamp() RETURNS TIMESTAMPTZ LANGUAGE sql AS 'SELECT NULL::timestamptz';
         CREATE FUNCTION {evil}.lpad(a TEXT, n INT, b TEXT) RETURNS TEXT LANGUAGE sql AS 'SELECT ''stolen''';
         CREATE TABLE {evil}.addresses (address_no BIGINT, address TEXT)"
    ));
    let path = format!(
        "CREATE TEMP TABLE intake (uid TEXT, is_ack SMALLINT, to_agent TEXT, from_agent TEXT, message_type TEXT, subject TEXT, payload TEXT,
             context TEXT, ref_id TEXT, ref_type TEXT, priority TEXT, session TEXT, written_at TEXT, refusal TEXT);
         CREATE TEMP TABLE deliveries (address_no BIGINT, is_acked SMALLINT, entry_no BIGINT);
         CREATE TEMP TABLE entries (entry_no BIGINT); CREATE TEMP TABLE inbox_json (a INT);
         SET row_security = off; SET search_path TO pg_temp, {evil}, {}, pg_catalog",
        table.shown
    );
    table.sql_after(&path, &insert("Safe")).unwrap();
    let kept = table
        .sql_after(
            &path,
            &format!(
                "{}; SELECT count(*) FROM pg_temp.intake",
                insert("Safe~too").replace('~', " ")
            ),
        )
        .unwrap();
    assert_eq!(kept, "0", "nothing went to the caller's own table");
    let mail = table.desk.ok("read --agent backend");
    assert_eq!(summaries(&mail), ["Safe", "Safe too"]);
    table
        .sql_after(&path, "UPDATE inbox SET processed = true")
        .unwrap();
    table.desk.nothing("read --agent backend");
    assert_eq!(table.sql("SELECT count(*) FROM inbox WHERE processed"), "2");
    // What no jsonb can hold is shown as text by our function, and not by the caller's.
    let sent = "send --from lead --to backend --kind event --subject Odd --payload-json {\"a\":\"\\u0000\"}";
    table.desk.ok(sent);
    let shown = "SELECT jsonb_typeof(payload), payload::text LIKE '%stolen%' FROM inbox WHERE subject = 'Odd'";
    assert_eq!(table.sql_after(&path, shown).unwrap(), "string|f");
}

#[test]
fn publishing_again_changes_nothing_and_grants_what_is_new() {
    let table = Published::new();
    table.insert("Stays");
    let Published { desk, shown, .. } = &table;
    let oid = format!("SELECT '{shown}.inbox'::regclass::oid");
    let before = supabase().psql(&oid);
    supabase().psql(&format!(
        "CREATE ROLE \"Odd; \"\"role\"\"_{shown}\"; GRANT USAGE ON SCHEMA {shown} TO PUBLIC"
    ));
    let odd = format!("Odd;~\"role\"_{shown}");
    for _ in 0..2 {
        let made = desk.ok(&format!(
            "init --publish-inbox {shown} --grant other --grant {odd}"
        ));
        assert_eq!(keys(&made["published"]), ["granted", "schema", "view"]);
        assert_eq!(made["created"], false);
    }
    desk.ok(&format!("init --publish-inbox {shown}"));
    assert_eq!(supabase().psql(&oid), before);
    let read = format!("SELECT subject FROM {shown}.inbox");
    assert_eq!(supabase().psql_as("other", &read).unwrap(), "Stays");
    let odd = odd.replace('~', " ").replace('"', "\"\"");
    assert_eq!(
        supabase().psql(&format!("SET ROLE \"{odd}\"; {read}")),
        "Stays"
    );
    assert_eq!(table.sql("SELECT subject FROM inbox"), "Stays");
    assert!(!keys(&desk.ok("init")).contains(&"published"));
}

#[test]
fn it_follows_the_stores_own_view_when_a_later_step_replaces_it() {
    let table = Published::new();
    table.insert("Old");
    let store = &table.store;
    supabase().psql(&format!(
        "SET ROLE app; SET search_path TO {store};
         DO $$ BEGIN EXECUTE format('CREATE OR REPLACE VIEW inbox AS SELECT * FROM (%s) x WHERE subject <> ''Old''',
             rtrim(pg_get_viewdef('inbox'::regclass), ';')); END $$"
    ));
    table.insert("New");
    assert_eq!(table.sql("SELECT subject FROM inbox"), "New");
}

#[test]
fn what_cannot_be_published_is_refused_with_what_to_do() {
    let table = Published::new();
    let Published { desk, store, shown } = &table;
    let taken = format!("taken_{store}");
    let closed = format!("closed_{store}");
    supabase().psql(&format!(
        "CREATE SCHEMA {closed}; SET ROLE app; CREATE SCHEMA {taken}; CREATE TABLE {taken}.inbox (id INT); INSERT INTO {taken}.inbox VALUES (7);
         REVOKE ALL ON SCHEMA {taken} FROM anon, authenticated, service_role"
    ));
    let refuse = |exit: i32, code: &str, args: &str, says: &str| {
        let refused = desk.run(&format!("init {args}")).refused(exit, code);
        let said = said(&refused["error"]);
        assert!(said.contains(says), "{args}: {said}");
    };
    let long = "x".repeat(99);
    for (schema, says) in [
        (store.as_str(), "the store itself"),
        ("nowhere", "no schema \"nowhere\""),
        ("pg_catalog", "no schema"),
        (&long, "no schema"),
    ] {
        refuse(
            30,
            "invalid_input",
            &format!("--publish-inbox {schema}"),
            says,
        );
    }
    for (role, says) in [
        ("nobody", "no role \"nobody\""),
        ("", "--grant is empty"),
        ("public", "everybody"),
        ("anon", "everybody"),
        ("authenticated", "everybody"),
    ] {
        let args = format!("--publish-inbox {shown} --grant={role}");
        refuse(30, "invalid_input", &args, says);
    }
    refuse(30, "invalid_input", "--grant app", "--publish-inbox");
    refuse(30, "invalid_input", "--print --publish-inbox x", "--print");
    refuse(
        30,
        "not_allowed",
        &format!("--publish-inbox {closed}"),
        "GRANT CREATE ON SCHEMA",
    );
    refuse(
        20,
        "already_exists",
        &format!("--publish-inbox {taken}"),
        "has an inbox already",
    );
    assert_eq!(
        supabase().psql(&format!("SELECT id FROM {taken}.inbox")),
        "7"
    );
    // Also when it is another store's.
    let (other, _) = super::supabase::store();
    other
        .run(&format!("init --publish-inbox {shown}"))
        .refused(20, "already_exists");
    // A role that could not get to the view; the whole request is one step.
    supabase().psql(&format!("DROP TABLE {taken}.inbox"));
    refuse(
        30,
        "not_allowed",
        &format!("--publish-inbox {taken} --grant app --grant service_role"),
        "GRANT USAGE ON SCHEMA",
    );
    assert_eq!(
        supabase().psql(&format!("SELECT to_regclass('{taken}.inbox')")),
        ""
    );
}

#[test]
fn a_sqlite_file_is_not_published_and_not_made_for_it() {
    let inbox = Sandbox::empty(INBOX);
    let desk = Desk { inbox };
    let refused = desk
        .run("init --publish-inbox public --grant service_role")
        .refused(30, "invalid_input");
    assert!(said(&refused["error"]).contains("SQLite"), "{refused}");
    assert!(!desk.inbox.store().exists());
    let (url, _) = fresh("app");
    desk.run(&format!(
        "init --db {url} --publish-inbox public --grant anon"
    ))
    .refused(30, "invalid_input");
    desk.run(&format!("list --db {url}"))
        .refused(40, "store_not_found");
}
