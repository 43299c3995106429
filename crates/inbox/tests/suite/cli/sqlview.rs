//! The view `inbox`, as plain SQL clients know it: the same on both databases.

use serde_json::Value;

use super::desk::{said, summaries, text};
use super::table::{Client, Table, both, rows};

pub(super) const COLUMNS: [&str; 14] = [
    "id",
    "to_agent",
    "from_agent",
    "message_type",
    "subject",
    "payload",
    "context",
    "ref_id",
    "ref_type",
    "priority",
    "processed",
    "processed_at",
    "processed_by_session",
    "created_at",
];

const SESSION: &str = "11111111-2222-4333-8444-555555555555";

#[test]
fn what_was_inserted_is_taken_in_once_wherever_who_takes_it_in_dies() {
    both(|table| {
        for point in inbox_torture::points::WRITES {
            let subject = format!("{point:?}");
            table.insert(&subject, "", "");
            let number = (point as u32).to_string();
            let died = table.desk.with(&[("INBOX_FAIL_POINT", &number)], "list");
            assert_eq!(died.code, -1, "{point:?}: {died}");
            let listed = table.desk.ok("list");
            let threads = listed["threads"].as_array().unwrap().iter();
            let found = threads.filter(|thread| thread["subject"] == subject.as_str());
            assert_eq!(found.count(), 1, "{point:?}: {listed}");
            let shown = format!("SELECT count(*) FROM inbox WHERE subject = '{subject}'");
            assert_eq!(table.get(&shown), "1", "{point:?}");
        }
        assert!(table.letters().is_empty());
    });
}

#[test]
fn the_view_has_the_tables_columns_in_their_order() {
    let table = Table::of_sqlite();
    let Client::File(client) = &table.client else {
        panic!("it is SQLite")
    };
    let statement = client.prepare("SELECT * FROM inbox").unwrap();
    let found: Vec<_> = statement.column_names().collect();
    assert_eq!(found, COLUMNS);
}

#[test]
fn on_postgresql_the_columns_have_the_tables_types_too() {
    let table = Table::of_postgres();
    let Client::Server(_, schema) = &table.client else {
        panic!("it is PostgreSQL")
    };
    let found = table.get(&format!(
        "SELECT column_name, udt_name FROM information_schema.columns \
         WHERE table_schema = '{schema}' AND table_name = 'inbox' ORDER BY ordinal_position"
    ));
    let types = [
        "uuid",
        "text",
        "text",
        "text",
        "text",
        "jsonb",
        "jsonb",
        "text",
        "text",
        "int4",
        "bool",
        "timestamptz",
        "uuid",
        "timestamptz",
    ];
    let wanted: Vec<_> = COLUMNS
        .iter()
        .zip(types)
        .map(|(column, sort)| format!("{column}|{sort}"))
        .collect();
    assert_eq!(found, wanted.join("\n"));
}

#[test]
fn what_is_sent_is_a_row_for_each_address() {
    both(|table| {
        let sent = table.desk.ok(
            "send --from lead --to backend --to reviewer --subject Work --body Words --priority urgent --ref-type task --ref-id T1",
        );
        let row = table.get(
            "SELECT to_agent, from_agent, message_type, subject, ref_id, ref_type, priority \
             FROM inbox ORDER BY to_agent",
        );
        assert_eq!(
            row,
            "backend|lead|task|Work|T1|task|1\nreviewer|lead|task|Work|T1|task|1"
        );
        let id = table.get("SELECT id FROM inbox WHERE to_agent = 'backend'");
        assert_eq!(id, text(&sent["message"]["uid"]));
        let payload = table.get("SELECT payload FROM inbox WHERE to_agent = 'backend'");
        let payload: Value = serde_json::from_str(&payload).unwrap();
        assert_eq!(payload["body"], "Words");
    });
}

#[test]
fn an_inserted_row_is_visible_at_once_and_becomes_a_message_by_the_rules() {
    both(|table| {
        let at = "2026-01-02T03:04:05Z";
        let id = "aaaaaaaa-2222-4333-8444-555555555555";
        table.insert(
            "Plain",
            ", id, payload, context, ref_id, ref_type, priority, created_at",
            &format!(", '{id}', '{{\"a\": 1}}', '{{\"c\": 2}}', 'P1', 'phase', 2, '{at}'"),
        );
        let waiting = table.get("SELECT id, subject, priority, processed_at FROM inbox");
        assert_eq!(waiting, format!("{id}|Plain|2|"), "before it is taken in");
        let mail = table.desk.ok("read --agent backend");
        let message = &mail["messages"][0];
        assert_eq!(message["summary"], "Plain");
        assert_eq!(message["uid"], id);
        assert_eq!(message["message_type"], "fyi");
        assert_eq!(message["priority"], "high");
        assert_eq!(message["payload_json"]["a"], 1);
        assert_eq!(message["context"]["c"], 2);
        assert_eq!(message["created_at"], "2026-01-02T03:04:05.000Z");
        assert_eq!(message["verified"], false);
        let thread = table.desk.show(&text(&message["thread_id"]));
        assert_eq!(thread["thread"]["ref_type"], "phase");
        assert_eq!(
            table.get("SELECT id, subject, priority, processed_at FROM inbox"),
            waiting,
            "after it, the same row"
        );
        assert!(table.letters().is_empty());
    });
}

#[test]
fn rows_for_all_and_every_priority_are_taken_in() {
    both(|table| {
        table.desk.ok("session start --agent backend --session s1");
        table.get(
            "INSERT INTO inbox (to_agent, from_agent, message_type, subject) \
             VALUES ('ALL', 'system', 'fyi', 'Everybody')",
        );
        for priority in 1..=5 {
            let value = format!(", {priority}");
            table.insert(&format!("p{priority}"), ", priority", &value);
        }
        let mail = table.desk.ok("read --session s1");
        assert_eq!(
            summaries(&mail),
            ["Everybody", "p1", "p2", "p3", "p4", "p5"]
        );
        let messages = mail["messages"].as_array().unwrap();
        let found: Vec<_> = messages
            .iter()
            .map(|message| text(&message["priority"]))
            .collect();
        assert_eq!(found, ["normal", "urgent", "high", "normal", "low", "fyi"]);
        assert_eq!(messages[0]["to"].to_string(), r#"["all"]"#);
        let all = "SELECT to_agent, from_agent FROM inbox WHERE subject = 'Everybody'";
        assert_eq!(table.get(all), "ALL|system");
    });
}

#[test]
fn what_the_rules_refuse_is_a_dead_letter_with_the_reason_and_fails_nobody() {
    both(|table| {
        let refuse = |columns: &str, values: &str| {
            table.get(&format!("INSERT INTO inbox ({columns}) VALUES ({values})"));
        };
        let plain = "to_agent, from_agent, message_type, subject";
        refuse("subject", "'nothing'");
        refuse(plain, "'backend', 'human', 'fyi', 'as the person'");
        refuse(plain, "'a b', 'reviewer', 'fyi', 'no address'");
        refuse(plain, "'backend', 'a b', 'fyi', 'no name'");
        refuse(plain, "'backend', 'reviewer', 'fyi', ''");
        table.insert("priority", ", priority", ", 9");
        table.insert("half", ", ref_id", ", 'T1'");
        table.insert("sort", ", ref_id, ref_type", ", 'T1', 'mail'");
        table.insert(
            "wire",
            ", payload",
            ", '{\"wire\": \"9.0\", \"type\": \"brief\"}'",
        );
        let id = "bbbbbbbb-2222-4333-8444-555555555555";
        table.insert("once", ", id", &format!(", '{id}'"));
        table.insert("twice", ", id", &format!(", '{id}'"));
        let mail = table.desk.ok("read --agent backend");
        assert_eq!(summaries(&mail), ["once"]);
        let letters = table.letters();
        let reasons: Vec<_> = letters
            .iter()
            .map(|letter| {
                assert_eq!(letter["reason"], "refused");
                assert!(letter["refused"].is_object(), "{letter}");
                text(&letter["explanation"])
            })
            .collect();
        let all = reasons.join("\n");
        assert_eq!(reasons.len(), 10, "{all}");
        for part in [
            "from_agent is missing",
            "human is a reserved name",
            "\"a b\" is not an address",
            "\"a b\" is not a name",
            "subject is missing",
            "the priority 9",
            "belong together",
            "\"mail\"",
            "version",
            id,
        ] {
            assert!(all.contains(part), "{part}: {all}");
        }
        assert_eq!(
            table.get("SELECT count(*) FROM inbox"),
            "1",
            "what was refused is no row"
        );
    });
}

#[test]
fn an_id_that_is_no_uuid_is_refused_by_the_database_or_by_the_rules() {
    let table = Table::of_sqlite();
    table.insert("x", ", id", ", 'seven'");
    table.desk.nothing("read --agent backend");
    let letters = table.letters();
    assert!(
        text(&letters[0]["explanation"]).contains("\"seven\" is not a UUID"),
        "{letters:?}"
    );
}

#[test]
fn processed_acknowledges_with_the_session_that_did_it() {
    both(|table| {
        let line = format!("session start --agent backend --session {SESSION}");
        table.desk.ok(&line);
        let sent = table
            .desk
            .ok("send --from lead --to backend --kind event --subject One");
        table.insert("Two", "", "");
        table.desk.ok("list");
        let before = table.get("SELECT count(*) FROM inbox WHERE NOT processed");
        assert_eq!(before, "2");
        table.get(&format!(
            "UPDATE inbox SET processed = true, processed_by_session = '{SESSION}' WHERE to_agent = 'backend'"
        ));
        let now = table.get("SELECT count(*) FROM inbox WHERE processed");
        assert_eq!(now, "2", "seen by the same client at once");
        table.desk.nothing("read --agent backend");
        let by = table.get(
            "SELECT subject, processed_by_session, processed_at IS NOT NULL FROM inbox ORDER BY subject",
        );
        let yes = if matches!(table.client, Client::File(_)) {
            "1"
        } else {
            "t"
        };
        assert_eq!(by, format!("One|{SESSION}|{yes}\nTwo|{SESSION}|{yes}"));
        let id = text(&sent["message"]["message_id"]);
        let ladder = table.desk.ok(&format!("receipts {id}"));
        assert_eq!(ladder["receipts"][0]["step"], "acked");
        assert_eq!(ladder["receipts"][0]["session_id"], SESSION);
        let thread = table.desk.show(&text(&sent["thread"]["thread_id"]));
        assert_eq!(thread["thread"]["status"], "done", "a conversation is over");
        table.get("UPDATE inbox SET processed = true WHERE to_agent = 'backend'");
        assert_eq!(
            table.desk.ok(&format!("receipts {id}"))["receipts"],
            ladder["receipts"]
        );
    });
}

#[test]
fn nothing_is_deleted_or_changed_otherwise() {
    both(|table| {
        let thread = table.desk.send("--to backend --body Words");
        table.insert("Waiting", "", "");
        let before = table.get("SELECT * FROM inbox ORDER BY subject");
        for (sql, says) in [
            ("DELETE FROM inbox", "never deleted"),
            ("UPDATE inbox SET subject = 'x'", "not changed otherwise"),
            ("UPDATE inbox SET payload = '{}'", "not changed otherwise"),
            (
                "UPDATE inbox SET processed = false",
                "not changed otherwise",
            ),
            (
                "UPDATE inbox SET to_agent = 'x', processed = true",
                "not changed otherwise",
            ),
            (
                "UPDATE inbox SET from_agent = 'x', processed = true",
                "not changed otherwise",
            ),
            (
                "UPDATE inbox SET priority = 1, processed = true",
                "not changed otherwise",
            ),
            (
                "UPDATE inbox SET ref_id = 'x', processed = true",
                "not changed otherwise",
            ),
            (
                "UPDATE inbox SET context = '{}', processed = true",
                "not changed otherwise",
            ),
            (
                "UPDATE inbox SET message_type = 'x', processed = true",
                "not changed otherwise",
            ),
        ] {
            let error = table.sql(sql).expect_err(sql);
            // SQLite refuses to delete from a view by itself.
            let is_refused = error.contains(says) || error.contains("it is a view");
            assert!(is_refused, "{sql}: {error}");
        }
        assert_eq!(table.get("SELECT * FROM inbox ORDER BY subject"), before);
        assert_eq!(table.desk.show(&thread)["thread"]["status"], "pending");
        assert_eq!(table.desk.ok("read --agent backend")["unread"], 0);
    });
}

/// What the indexes of the table were for.
const NEEDS: [&str; 3] = [
    "SELECT * FROM inbox WHERE to_agent = 'backend' AND processed = false ORDER BY created_at",
    "SELECT * FROM inbox WHERE ref_id = 'T1'",
    "SELECT * FROM inbox WHERE from_agent = 'lead' ORDER BY created_at DESC",
];

#[test]
fn what_the_tables_indexes_were_for_is_found_without_looking_at_everything() {
    let table = Table::of_sqlite();
    let Client::File(client) = &table.client else {
        panic!("it is SQLite")
    };
    for need in NEEDS {
        let plan = rows(client, &format!("EXPLAIN QUERY PLAN {need}")).unwrap();
        for line in plan.lines().filter(|line| line.contains("SCAN")) {
            // What waits to be taken in is little: the next command takes it.
            let is_little = line.ends_with("SCAN inbox") || line.ends_with("SCAN intake");
            assert!(is_little, "{need}\n{plan}");
        }
    }
    let table = Table::of_postgres();
    for need in NEEDS {
        let sql = format!("SET enable_seqscan = off; EXPLAIN {need}");
        let plan = table.get(&sql);
        // What waits to be taken in is little there too.
        let little = plan.matches("Seq Scan on intake").count();
        assert_eq!(plan.matches("Seq Scan").count(), little, "{need}\n{plan}");
    }
    let plan = table.get(&format!("SET enable_seqscan = off; EXPLAIN {}", NEEDS[0]));
    assert!(plan.contains("deliveries_unprocessed"), "{plan}");
}

#[test]
fn a_wrong_session_is_a_dead_letter_and_the_message_stays() {
    let table = Table::of_sqlite();
    table.desk.send("--to backend --kind event");
    table.get("UPDATE inbox SET processed = true, processed_by_session = 'has space'");
    let letters = table.letters();
    assert_eq!(letters.len(), 1);
    assert!(
        text(&letters[0]["explanation"]).contains("has space"),
        "{letters:?}"
    );
    let error = table
        .desk
        .refused(40, "message_not_found", "receipts msg_zzz");
    assert!(said(&error).contains("msg_zzz"));
}
