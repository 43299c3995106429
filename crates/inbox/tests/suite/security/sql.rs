//! SQL in names, labels, filters and texts: taken as text or refused as input, on both databases, and never a statement.

use std::collections::BTreeMap;

use inbox_core::{Code, Refusal};
use inbox_ops::{Caller, Inbox, Operation};
use inbox_testkit::world::{World, by};
use inbox_torture::Dice;
use serde_json::{Value, json};

/// Texts that end a statement's text, a comment or a parameter where somebody puts statements together.
const TEXTS: [&str; 40] = [
    "'",
    "''",
    "\"",
    "`",
    "\\",
    "\\'",
    ";",
    "--",
    "/*",
    "*/",
    "#",
    "%",
    "_",
    "?",
    "$1",
    ":name",
    "@x",
    "' OR '1'='1",
    "' OR 1=1 --",
    "'; DROP TABLE threads; --",
    "\"; DROP TABLE threads; --",
    "1; DELETE FROM entries",
    "') ; DELETE FROM agents ; --",
    "' UNION SELECT value FROM meta --",
    "x' AND (SELECT count(*) FROM tokens) > 0 --",
    "$$; DROP SCHEMA public CASCADE; $$",
    "$a$x$a$",
    "E'\\x27'",
    "U&'\\0027'",
    "'||(SELECT secret FROM tokens LIMIT 1)||'",
    "' AND pg_sleep(10) --",
    "'; COPY threads TO PROGRAM 'touch pwned'; --",
    "'; ATTACH DATABASE 'pwned.db' AS x; --",
    "'; PRAGMA writable_schema = 1; --",
    "load_extension('x')",
    "\u{2019} OR 1=1",
    "\u{ff07} OR 1=1",
    "\u{202e}' --",
    "NEAR(a b, 5) AND subject:*",
    "\" OR NOT \"",
];

/// Where a caller may write.
const FIELDS: [&str; 20] = [
    "send.subject",
    "send.summary",
    "send.body",
    "send.payload",
    "send.run",
    "send.task",
    "send.to",
    "send.artifact",
    "note.ref",
    "note.note",
    "memory-add.text",
    "memory-search.query",
    "agent-add.slug",
    "agent-add.persona",
    "list.agent",
    "list.run",
    "list.assigned_to",
    "search.query",
    "search.address",
    "caller.key",
];

/// Carries out a request that is JSON, and gives what it answers as JSON.
fn ask<O: Operation>(inbox: &Inbox, caller: &Caller, request: Value) -> Result<Value, Refusal> {
    let request: O = serde_json::from_value(request)
        .map_err(|error| Refusal::new(Code::InvalidInput, error.to_string()))?;
    let answer = request.run(inbox, caller)?;
    Ok(serde_json::to_value(&answer).expect("an answer is JSON"))
}

/// What a text in a field gives, and where in the answer it must stand again as it was.
fn attempt(inbox: &Inbox, field: &str, text: &str) -> Result<(Value, &'static str), Refusal> {
    let mallory = by("mallory");
    let (operation, key) = field.split_once('.').expect("an operation and a field");
    let with = |mut request: Value, value: Value| {
        request[key] = value;
        request
    };
    let work = json!({ "to": ["backend"], "subject": "s" });
    let answer = match field {
        "send.to" => ask::<inbox_ops::Send>(inbox, &mallory, with(work, json!([text])))?,
        "send.payload" => {
            let mut work = work;
            work["payload_json"] = json!({ text: text });
            ask::<inbox_ops::Send>(inbox, &mallory, work)?
        }
        "send.artifact" => {
            let mut work = work;
            work["artifacts"] = json!([{ "path": text }]);
            ask::<inbox_ops::Send>(inbox, &mallory, work)?
        }
        "caller.key" => {
            let key = text.parse().map_err(|_| Refusal::input("no key"))?;
            let keyed = Caller {
                key: Some(key),
                ..mallory
            };
            ask::<inbox_ops::Send>(inbox, &keyed, work)?
        }
        "note.ref" => {
            let about = json!({ "ref": format!("task:{text}"), "note": "n" });
            ask::<inbox_ops::Note>(inbox, &mallory, about)?
        }
        "note.note" => {
            ask::<inbox_ops::Note>(inbox, &mallory, json!({ "ref": "task:T", "note": text }))?
        }
        _ => match operation {
            "send" => ask::<inbox_ops::Send>(inbox, &mallory, with(work, json!(text)))?,
            "memory-add" => ask::<inbox_ops::MemoryAdd>(inbox, &mallory, json!({ key: text }))?,
            "memory-search" => {
                ask::<inbox_ops::MemorySearch>(inbox, &mallory, json!({ key: text }))?
            }
            "agent-add" => {
                let slug = json!({ "slug": format!("a{}", text.len()) });
                ask::<inbox_ops::AgentAdd>(inbox, &mallory, with(slug, json!(text)))?
            }
            "list" => ask::<inbox_ops::List>(inbox, &mallory, json!({ key: text }))?,
            "search" => {
                let query = json!({ "query": "word" });
                ask::<inbox_ops::Search>(inbox, &mallory, with(query, json!(text)))?
            }
            _ => unreachable!("{field}"),
        },
    };
    let place = match field {
        "send.subject" => "/thread/subject",
        "send.summary" => "/message/summary",
        "send.body" => "/message/body",
        "send.run" => "/thread/run_id",
        "send.task" => "/thread/task_id",
        "send.artifact" => "/artifacts/0/path",
        _ => "",
    };
    Ok((answer, place))
}

/// Tries a text in every field: it is taken as it is or refused as input.
#[track_caller]
fn is_only_text(inbox: &Inbox, text: &str, counted: &mut BTreeMap<&'static str, usize>) {
    for field in FIELDS {
        match attempt(inbox, field, text) {
            Ok((answer, place)) => {
                if let Some(kept) = answer.pointer(place).filter(|_| !place.is_empty()) {
                    assert_eq!(kept, text, "{field}");
                }
                *counted.entry("taken").or_default() += 1;
            }
            Err(refusal) => {
                let exit = refusal.code.exit();
                assert!(
                    matches!(exit, 20 | 30 | 40),
                    "{field} {text:?}: {refusal:?}"
                );
                *counted.entry("refused").or_default() += 1;
            }
        }
    }
}

/// What every later test of the store would miss.
#[track_caller]
fn is_whole(world: &World, threads: usize) {
    assert_eq!(world.inbox().store().check().unwrap(), Vec::<String>::new());
    let listed = ask::<inbox_ops::List>(world.inbox(), &by("lead"), json!({ "limit": 1000 }));
    let listed = listed.unwrap()["threads"].as_array().unwrap().len();
    assert!(listed > threads, "{listed} threads");
    world.inbox().store().prepare_all().unwrap();
}

#[test]
fn sql_in_any_field_is_text_or_is_refused_on_both_databases() {
    for world in [World::sqlite(), World::postgres()] {
        world.send("lead", "backend", "word");
        let mut counted = BTreeMap::new();
        for text in TEXTS {
            is_only_text(world.inbox(), text, &mut counted);
        }
        let count: usize = counted.values().sum();
        assert_eq!(count, TEXTS.len() * FIELDS.len());
        assert!(counted["taken"] > 200, "{counted:?}");
        is_whole(&world, TEXTS.len());
    }
}

#[test]
fn pieces_of_sql_in_any_order_are_text_or_are_refused_on_both_databases() {
    const PIECES: [&str; 16] = [
        "'", "\"", "\\", ";", "--", "$$", "\n", "\0", "\u{7f}", "é", "👾", " OR ", "NULL", ")",
        "(", "%s",
    ];
    for world in [World::sqlite(), World::postgres()] {
        let mut dice = Dice::new(0x5eed_0003);
        let mut counted = BTreeMap::new();
        for _ in 0..40 {
            let length = 1 + dice.place(8);
            let text: String = (0..length)
                .map(|_| PIECES[dice.place(PIECES.len())])
                .collect();
            is_only_text(world.inbox(), &text, &mut counted);
        }
        is_whole(&world, 10);
    }
}
