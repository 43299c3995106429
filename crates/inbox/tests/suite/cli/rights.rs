//! Who may do what to a store in PostgreSQL: its owner everything, everybody else nothing.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use inbox_testkit::sandbox::Sandbox;

use super::desk::{Desk, said, text};
use super::supabase::{askable, attempts, fresh, rights, store, supabase, without_row_security};
use crate::INBOX;

const OTHERS: [&str; 3] = ["anon", "authenticated", "service_role"];

const NOTHING: [String; 0] = [];

/// There are at least so many rights to ask for, and so many things to attempt.
const ASKED: usize = 500;
const ATTEMPTS: usize = 200;

#[test]
fn by_the_catalog_nobody_else_has_any_right_on_anything_of_a_store() {
    let (_desk, schema) = store();
    let asked = askable(&schema, &["anon"]);
    for part in [
        "schema|USAGE",
        "relation|TRUNCATE|threads",
        "relation|INSERT|inbox",
        "column|UPDATE|entries.body",
        "sequence|USAGE|threads_thread_no_seq",
        "function|EXECUTE|inbox_json",
        "type|USAGE|agents",
    ] {
        assert!(asked.iter().any(|line| line.contains(part)), "{part}");
    }
    assert!(asked.len() > ASKED, "{}", asked.len());
    assert_eq!(rights(&schema, &OTHERS), NOTHING);
    assert_eq!(without_row_security(&schema), NOTHING);
}

#[test]
fn everything_that_they_attempt_is_denied_even_inside_the_schema() {
    let (desk, schema) = store();
    desk.send("--to backend");
    for role in OTHERS {
        let (count, got) = attempts(&schema, role);
        assert!(count > ATTEMPTS, "{count}");
        assert_eq!(got, NOTHING);
    }
    // The lock on the door is not the only one.
    supabase().psql(&format!(
        "GRANT USAGE ON SCHEMA {schema} TO anon, authenticated, service_role"
    ));
    for role in OTHERS {
        let (_, got) = attempts(&schema, role);
        assert_eq!(got, NOTHING);
    }
    // And rights on the tables show no rows, to all but those whom row security does not bind.
    supabase().psql(&format!(
        "GRANT SELECT, UPDATE, DELETE ON ALL TABLES IN SCHEMA {schema} TO anon"
    ));
    for table in ["threads", "entries", "meta", "deliveries"] {
        let seen = supabase().psql(&format!(
            "SET ROLE anon; SELECT count(*) FROM {schema}.{table}"
        ));
        assert_eq!(seen, "0", "{table}");
        assert_ne!(
            supabase().psql(&format!("SELECT count(*) FROM {schema}.{table}")),
            "0"
        );
    }
}

#[test]
fn a_right_that_is_planted_is_found() {
    let (_desk, schema) = store();
    for (sql, says) in [
        ("GRANT USAGE ON SCHEMA {} TO PUBLIC", "anon|schema|USAGE"),
        (
            "GRANT SELECT (subject) ON {}.threads TO anon",
            "anon|column|SELECT|threads.subject",
        ),
        (
            "GRANT TRUNCATE ON {}.replays TO authenticated",
            "authenticated|relation|TRUNCATE|replays",
        ),
        (
            "GRANT EXECUTE ON FUNCTION {}.inbox_publish TO anon",
            "anon|function|EXECUTE|inbox_publish",
        ),
        (
            "GRANT UPDATE ON SEQUENCE {}.threads_thread_no_seq TO anon",
            "anon|sequence|UPDATE|threads_thread_no_seq",
        ),
        (
            "GRANT USAGE ON TYPE {}.agents TO anon",
            "anon|type|USAGE|agents",
        ),
    ] {
        supabase().psql(&sql.replace("{}", &schema));
        let found = rights(&schema, &OTHERS);
        assert!(
            found.iter().any(|line| line.starts_with(says)),
            "{sql}: {found:?}"
        );
    }
    let (_, got) = attempts(&schema, "anon");
    let truncated = attempts(&schema, "authenticated").1;
    assert!(got.iter().any(|line| line.contains("setval")), "{got:?}");
    assert!(
        truncated.contains(&format!("allowed|TRUNCATE {schema}.replays")),
        "{truncated:?}"
    );
    supabase().psql(&format!(
        "SET ROLE app; CREATE TABLE {schema}.later (a INT)"
    ));
    assert_eq!(without_row_security(&schema), ["later"]);
    // What a later migration says of what it makes.
    supabase().psql(&format!(
        "SET ROLE app; SELECT {schema}.inbox_private('later')"
    ));
    assert_eq!(without_row_security(&schema), NOTHING);
    let found = rights(&schema, &OTHERS);
    assert!(
        !found.iter().any(|line| line.contains("later")),
        "{found:?}"
    );
    let wrong = supabase().psql_as("app", &format!("SELECT {schema}.inbox_private('latr')"));
    assert!(wrong.unwrap_err().contains("the store has no latr"));
}

#[test]
fn a_store_of_an_older_schema_is_closed_when_it_is_brought_up_to_date() {
    let (url, schema) = fresh("app");
    let desk = Desk {
        inbox: Sandbox::empty(INBOX),
    };
    let printed = desk.ok(&format!("init --print --db {url}"));
    let steps = printed["migrations"].as_array().unwrap();
    for step in &steps[..4] {
        supabase().psql_as("app", &text(&step["sql"])).unwrap();
    }
    supabase().psql(&format!(
        "GRANT USAGE, CREATE ON SCHEMA {schema} TO anon, PUBLIC;
         GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO PUBLIC;
         ALTER DEFAULT PRIVILEGES FOR ROLE app IN SCHEMA {schema} GRANT ALL ON TABLES TO anon"
    ));
    assert_ne!(rights(&schema, &["anon"]), NOTHING);
    // By a member of the owner, to whom nothing of it belongs afterwards.
    supabase().psql(&format!("CREATE ROLE mia_{schema} LOGIN IN ROLE app"));
    let url = url.replace("app@", &format!("mia_{schema}@"));
    assert_eq!(desk.ok(&format!("init --db {url}"))["created"], false);
    let hers = supabase().psql(&format!(
        "SELECT proname FROM pg_proc WHERE proowner = 'mia_{schema}'::regrole
         UNION SELECT relname FROM pg_class WHERE relowner = 'mia_{schema}'::regrole"
    ));
    assert_eq!(hers, "");
    assert_eq!(rights(&schema, &OTHERS), NOTHING);
    assert_eq!(without_row_security(&schema), NOTHING);
    let defaults = "SELECT count(*) FROM pg_default_acl WHERE defaclnamespace";
    assert_eq!(
        supabase().psql(&format!("{defaults} = '{schema}'::regnamespace")),
        "0"
    );
}

#[test]
fn what_others_keep_in_the_same_schema_stays_as_it_is() {
    let (url, schema) = fresh("app");
    supabase().psql(&format!(
        "SET ROLE app; CREATE SCHEMA {schema}; GRANT USAGE ON SCHEMA {schema} TO anon;
         CREATE TABLE {schema}.theirs AS SELECT 1 AS a"
    ));
    let desk = Desk {
        inbox: Sandbox::at(INBOX, url),
    };
    desk.send("--to backend");
    let seen = format!("SET ROLE anon; SELECT a FROM {schema}.theirs");
    assert_eq!(supabase().psql(&seen), "1");
    let held = rights(&schema, &["anon"]);
    let ours = |line: &&String| !line.contains("theirs") && !line.starts_with("anon|schema|");
    assert_eq!(held.iter().find(ours), None);
}

#[test]
fn members_of_the_owner_share_a_store_and_others_are_told_that_they_may_not() {
    let (desk, schema) = store();
    desk.send("--to backend");
    supabase().psql(&format!(
        "CREATE ROLE ann_{schema} LOGIN IN ROLE app; CREATE ROLE eve_{schema} LOGIN;"
    ));
    let (url, _) = fresh("app");
    let url = format!("{}={schema}", url.rsplit_once('=').unwrap().0);
    let as_role = |name: &str, line: &str| {
        let db = url.replace("app@", &format!("{name}_{schema}@"));
        desk.with(&[("INBOX_DB", &db)], line)
    };
    let listed = as_role("ann", "list").ok();
    assert_eq!(listed["threads"].as_array().unwrap().len(), 1);
    as_role("ann", "send --from lead --to backend --subject Two").ok();
    let refused = as_role("eve", "list").refused(50, "storage");
    assert!(said(&refused["error"]).contains("permission denied"));
    assert!(text(&refused["error"]["hint"]).contains("GRANT owner TO"));
    // With rights on the tables alone, the store must not look like an empty one, or like none.
    supabase().psql(&format!(
        "GRANT USAGE ON SCHEMA {schema} TO eve_{schema};
         GRANT ALL ON ALL TABLES IN SCHEMA {schema} TO eve_{schema}"
    ));
    for line in [
        "list",
        "init",
        "send --from lead --to backend --subject Three",
    ] {
        let refused = as_role("eve", line).refused(50, "storage");
        let message = said(&refused["error"]);
        assert!(message.contains("row-level security"), "{line}: {message}");
    }
}

#[test]
fn within_an_operation_the_path_is_pinned_and_nothing_waits_for_ever() {
    let (desk, schema) = store();
    supabase().psql(&format!(
        "CREATE TABLE scratch.seen_{schema} (setting TEXT); GRANT ALL ON scratch.seen_{schema} TO PUBLIC;
         CREATE FUNCTION scratch.see_{schema}() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             INSERT INTO scratch.seen_{schema} SELECT name || ' = ' || current_setting(name)
               FROM unnest(ARRAY['search_path', 'statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout', 'synchronous_commit']) name;
             RETURN NULL;
         END $$;
         CREATE TRIGGER planted AFTER INSERT ON {schema}.entries FOR EACH ROW EXECUTE FUNCTION scratch.see_{schema}();
         CREATE TABLE public.agents_{schema} (a INT)"
    ));
    desk.send("--to backend");
    let seen = supabase().psql(&format!(
        "SELECT DISTINCT setting FROM scratch.seen_{schema} ORDER BY 1"
    ));
    let wanted = format!(
        "idle_in_transaction_session_timeout = 1min\nlock_timeout = 10s\nsearch_path = {schema}, pg_temp\nstatement_timeout = 30s\nsynchronous_commit = on"
    );
    assert_eq!(seen.replace('"', ""), wanted);
    let loose = supabase().psql(&format!(
        "SELECT proname FROM pg_proc WHERE pronamespace = '{schema}'::regnamespace
            AND NOT EXISTS (SELECT 1 FROM unnest(proconfig) c WHERE c LIKE 'search_path=%pg_temp')"
    ));
    assert_eq!(loose, "", "functions without a path of their own");
}

/// The seconds that a text tells of after these words.
#[track_caller]
fn seconds(text: &str, words: &str) -> u64 {
    let after = text.split_once(words).unwrap_or_else(|| panic!("{text}")).1;
    after.split(' ').next().unwrap().parse().unwrap()
}

fn checks_of(answer: &serde_json::Value) -> &[serde_json::Value] {
    answer["checks"].as_array().expect("checks")
}

#[test]
fn a_lock_that_another_program_holds_ends_in_a_refusal_that_says_what_to_do() {
    let (desk, schema) = store();
    let mut holder = supabase()
        .client("app")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("psql starts");
    let mut input = holder.stdin.take().unwrap();
    writeln!(
        input,
        "SELECT pg_backend_pid();\nBEGIN; SAVEPOINT one; LOCK TABLE {schema}.threads;\n\\echo locked"
    )
    .unwrap();
    let mut output = BufReader::new(holder.stdout.take().unwrap());
    let mut next = || {
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        line.trim().to_owned()
    };
    let process = next();
    assert_eq!(next(), "locked");
    let refused = desk
        .run("send --from lead --to backend --subject Held --key k1")
        .refused(50, "storage");
    let error = &refused["error"];
    assert!(said(error).contains("lock timeout"), "{error}");
    assert!(text(&error["hint"]).contains("inbox doctor"), "{error}");
    assert!(text(&error["hint"]).contains("--key"), "{error}");
    // It says for whom it waited, and doctor says the same for as long as that one goes on.
    let who = format!("server process {process} of app, in a transaction for ");
    assert!(seconds(&said(error), &who) >= 5, "{error}");
    writeln!(input, "ROLLBACK TO one;\n\\echo unlocked").unwrap();
    assert_eq!(next(), "unlocked");
    let checked = desk.ok("doctor");
    let checks = checks_of(&checked);
    let holder_of = checks.iter().find(|check| check["name"] == "lock_holder");
    let found = holder_of.unwrap_or_else(|| panic!("{checked}"));
    assert_eq!(found["status"], "warning", "{found}");
    assert!(seconds(&text(&found["message"]), &who) >= 10, "{found}");
    let hint = text(&found["hint"]);
    assert!(hint.contains("pg_terminate_backend"), "{found}");
    drop(input);
    assert!(holder.wait().unwrap().success());
    // The same again, once the lock is gone: one effect.
    desk.ok("send --from lead --to backend --subject Held --key k1");
    let listed = desk.ok("list");
    assert_eq!(listed["threads"].as_array().unwrap().len(), 1);
}
