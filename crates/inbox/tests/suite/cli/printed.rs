//! `init --print`: the migrations as plain SQL, which make the same store when something else runs them.

use std::io::Write;
use std::process::Stdio;

use inbox_testkit::sandbox::{Outcome, Sandbox, finish};
use rusqlite::Connection;

use super::desk::{Desk, keys, text};
use super::supabase::{fresh, rights, supabase, without_row_security};
use super::table::rows;
use crate::INBOX;

fn desk() -> Desk {
    Desk {
        inbox: Sandbox::empty(INBOX),
    }
}

/// Prints as a person would, without `--json`.
fn print(desk: &Desk, db: &str) -> Outcome {
    let mut command = desk.inbox.command(["init", "--print", "--db", db]);
    finish(command.spawn().expect("the binary starts"))
}

/// What the catalog says of a schema, without its name.
fn described(schema: &str) -> String {
    let sql = format!(
        "WITH here AS (SELECT '{schema}'::regnamespace::oid AS n)
         SELECT 'column', c.relname, a.attname, format_type(atttypid, atttypmod), attnotnull, attidentity::text, pg_get_expr(d.adbin, d.adrelid)
           FROM here, pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = attnum
          WHERE c.relnamespace = n AND attnum > 0 AND NOT attisdropped AND relkind IN ('r', 'v', 'S')
         UNION ALL
         SELECT 'relation', relname, relkind::text, pg_get_userbyid(relowner)::text, relrowsecurity, relacl::text, relforcerowsecurity::text FROM here, pg_class WHERE relnamespace = n
         UNION ALL
         SELECT 'constraint', conrelid::regclass::text, conname, pg_get_constraintdef(oid), convalidated, '', '' FROM here, pg_constraint WHERE connamespace = n
         UNION ALL
         SELECT 'index', tablename, indexname, indexdef, true, '', '' FROM here, pg_indexes WHERE schemaname = n::regnamespace::text
         UNION ALL
         SELECT 'view', viewname, '', definition, true, '', '' FROM here, pg_views WHERE schemaname = n::regnamespace::text
         UNION ALL
         SELECT 'function', proname, '', pg_get_functiondef(oid), prosecdef, proacl::text, '' FROM here, pg_proc WHERE pronamespace = n
         UNION ALL
         SELECT 'trigger', tgrelid::regclass::text, tgname, pg_get_triggerdef(t.oid), true, '', '' FROM here, pg_trigger t JOIN pg_class c ON c.oid = tgrelid WHERE relnamespace = n AND NOT tgisinternal
         UNION ALL
         SELECT 'schema', '', '', nspacl::text, true, '', '' FROM here, pg_namespace WHERE oid = n
         UNION ALL
         SELECT 'meta', name, value, '', true, '', '' FROM {schema}.meta WHERE name <> 'purpose'
         ORDER BY 1, 2, 3, 4"
    );
    supabase().psql(&sql).replace(schema, "…")
}

#[test]
fn psql_makes_the_same_store_from_what_is_printed_as_init_does() {
    let desk = desk();
    let (url, schema) = fresh("app");
    let printed = print(&desk, &url);
    assert_eq!(printed.code, 0, "{printed}");
    desk.run(&format!("list --db {url}"))
        .refused(40, "store_not_found");
    let mut client = supabase()
        .client("app")
        .arg("--single-transaction")
        .stdin(Stdio::piped())
        .spawn()
        .expect("psql starts");
    let mut input = client.stdin.take().unwrap();
    input.write_all(printed.stdout.as_bytes()).unwrap();
    drop(input);
    assert!(client.wait().unwrap().success());
    assert_eq!(desk.ok(&format!("init --db {url}"))["created"], false);
    let (made_url, made) = fresh("app");
    desk.ok(&format!("init --db {made_url}"));
    let (found, wanted) = (described(&schema), described(&made));
    assert!(found.contains("inbox_publish") && found.contains("entries_by_uid"));
    assert_eq!(found, wanted);
    assert_eq!(rights(&schema, &["anon", "authenticated"]), [""; 0]);
    assert_eq!(without_row_security(&schema), [""; 0]);
    let send = "send --from lead --to backend --subject By~hand";
    desk.ok(&format!("{send} --db {url}"));
    let mail = desk.ok(&format!("read --agent backend --db {url}"));
    assert_eq!(mail["messages"][0]["summary"], "By hand");
}

#[test]
fn each_migration_is_printed_under_its_number_with_what_records_it() {
    let desk = desk();
    let db = "postgres://nobody@nowhere.invalid/none?schema=team";
    let answer = desk.ok(&format!("init --print --db {db}"));
    assert_eq!(keys(&answer), ["command", "migrations", "ok"]);
    let migrations = answer["migrations"].as_array().unwrap();
    let page = print(&desk, db).stdout;
    let mut place = 0;
    for (number, migration) in (1..).zip(migrations) {
        assert_eq!(keys(migration), ["name", "sql", "version"]);
        assert_eq!(migration["version"], number);
        let (name, sql) = (text(&migration["name"]), text(&migration["sql"]));
        assert!(name.starts_with(&format!("{number:04}_")), "{name}");
        let head = format!("-- {name}\n\n{sql}");
        let found = page
            .find(&head)
            .unwrap_or_else(|| panic!("{name} is not there"));
        assert!(found >= place, "{name} is out of order");
        place = found;
        assert!(sql.contains("SET search_path = \"team\", pg_temp;"));
        assert!(sql.contains(&format!("('schema_version', '{number}')")));
        assert!(sql.trim_end().ends_with("RESET search_path;"));
    }
    assert!(text(&migrations[0]["sql"]).starts_with("CREATE SCHEMA IF NOT EXISTS \"team\";"));
    let plain = print(&desk, "postgres://h/d").stdout;
    assert!(plain.contains("SET search_path = \"inbox\", pg_temp;"));
    desk.run("init --print --db postgres://h/d?schema=Team")
        .refused(30, "invalid_input");
}

#[test]
fn sqlite_makes_the_same_file_from_what_is_printed_as_init_does() {
    let desk = desk();
    let printed = print(&desk, "by-hand.db");
    assert_eq!(printed.code, 0, "{printed}");
    let path = desk.inbox.folder().join("by-hand.db");
    assert!(!path.exists(), "nothing is made");
    let client = Connection::open(&path).unwrap();
    client.execute_batch(&printed.stdout).unwrap();
    drop(client);
    desk.ok("init --db made.db");
    let schema = |name: &str| {
        let file = Connection::open(desk.inbox.folder().join(name)).unwrap();
        let sql = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY 1, 2";
        let marks = ["application_id", "user_version", "journal_mode"]
            .map(|mark| rows(&file, &format!("PRAGMA {mark}")).unwrap());
        (rows(&file, sql).unwrap(), marks)
    };
    assert_eq!(schema("by-hand.db"), schema("made.db"));
    assert_eq!(desk.ok("init --db by-hand.db")["created"], false);
    desk.ok("send --db by-hand.db --from lead --to backend --subject By~hand");
    let mail = desk.ok("read --db by-hand.db --agent backend");
    assert_eq!(mail["messages"][0]["summary"], "By hand");
    desk.ok("init --print");
    assert!(!desk.inbox.store().exists(), "nothing is made");
}
