//! Input that wants to break something: it is refused clearly or kept as it is, and the store stays sound.

use inbox_core::{Address, AgentName, Code, EventId, Refusal, SessionId};
use inbox_ops::{Ack, AgentAdd, AgentSet, Operation, Read, Send, SessionSet, SessionStart, Watch};
use serde_json::Value;

use crate::desk::{HOUR, at, keyed, letter, summaries, texts};
use crate::world::{World, by, code};

/// Texts that are wrong somewhere; some are right elsewhere.
fn hostile() -> Vec<String> {
    let mut found = texts(&[
        "",
        " ",
        "\t",
        "\n",
        "\r\n",
        "\0",
        "a\0b",
        "\u{1b}[2J",
        "\u{7f}",
        "\u{9b}31m",
        "a b",
        " a",
        "a ",
        "\u{202e}nimda",
        "a\u{202e}b",
        "\u{2066}x\u{2069}",
        "\u{200b}",
        "a\u{200b}b",
        "\u{feff}a",
        "a\u{ad}b",
        "b\u{430}ckend",
        "backеnd",
        "ｂackend",
        "ﬁx",
        "é",
        "e\u{301}",
        "😀",
        "İ",
        "ſ",
        "K",
        "role:",
        "role",
        ":",
        "::",
        ":a",
        "a:",
        "a:b:c",
        "role:a:b",
        "role:role:x",
        "project:",
        "project: x",
        "role:\u{202e}x",
        "role:ä",
        "role:-x",
        "role:.x",
        "project:a/b",
        "PROJECT:X\0",
        "0.0.",
        "0.0.-1",
        "0.0.+1",
        "0.0.1.2",
        "0.0.99999999999999999999",
        "0.0.18446744073709551616",
        "0.0.1@",
        "@0.0.1",
        "0.0.1@0.0.",
        "0.0.1@0.0.2@0.0.3",
        "0.0.1@x",
        "0.0.01",
        "00.0.1",
        "0.0.0x1",
        "1.0.1",
        "'",
        "\"",
        "`",
        "\\",
        "a'b",
        "a\"b",
        "'; DROP TABLE entries; --",
        "x' OR '1'='1",
        "1;SELECT 1",
        "$1",
        "?1",
        ":name",
        "%",
        "_",
        "a%",
        "_a",
        "a_b",
        "%a%",
        "[a-z]",
        "a*",
        "NULL",
        "null",
        "undefined",
        "nan",
        "A",
        "ALL",
        "All",
        "all.",
        "all ",
        "a.",
        "a..",
        ".",
        "..",
        "../x",
        "/",
        "-",
        "--",
        "-a",
        "--help",
        "a-",
        "@",
        "@a",
        "#",
        "#a",
        "#task:1",
        "@0.0.1x",
        "a,b",
        "a,,b",
        ",",
        "a;b",
        "a|b",
        "a&b",
        "a>b",
        "$(x)",
        "a\\nb",
        "human",
        "system",
        "runner",
        "hurnan",
        "a11",
        "{}",
        "[]",
        "{\"a\":1}",
        "~",
        "^",
        "a=b",
        "con",
        "nul",
    ]);
    found.push("a".repeat(64));
    found.push("a".repeat(65));
    found.push(format!("role:{}", "a".repeat(65)));
    found.push(format!("{}:x", "a".repeat(65)));
    found.push("s/".repeat(65));
    found.push("x".repeat(1 << 20));
    found.push("ä".repeat(1 << 19));
    found.push("a:".repeat(1 << 19));
    found
}

/// A refusal names what it refuses, in a form that cannot act on a terminal.
fn judge(what: &str, text: &str, refusal: &Refusal) {
    let beginning: String = text.chars().take(12).collect();
    let shown = &refusal.message;
    let allowed = [
        Code::InvalidInput,
        Code::NotAllowed,
        Code::TooLarge,
        Code::AlreadyExists,
    ];
    assert!(
        allowed.contains(&refusal.code),
        "{what} {beginning:?}: {refusal:?}"
    );
    let quoted = |text: &str| format!("{text:?}").trim_matches('"').to_owned();
    let escaped = quoted(&beginning);
    let lower = quoted(&beginning.to_ascii_lowercase());
    let trimmed = quoted(beginning.trim());
    let is_named = shown.contains(&escaped)
        || shown.contains(&lower)
        || shown.contains(&trimmed)
        || shown.contains(&beginning)
        || shown.contains("empty")
        || shown.contains("NUL")
        || shown.contains(&text.len().to_string())
        || shown.contains(&text.chars().count().to_string())
        // A list is refused by the part that is wrong.
        || beginning.contains(',');
    assert!(is_named, "{what} {beginning:?}: {shown}");
    let acts = |c: char| {
        c.is_control()
            || ('\u{200b}'..='\u{200f}').contains(&c)
            || ('\u{202a}'..='\u{202e}').contains(&c)
    };
    assert!(!shown.chars().any(acts), "{what}: {shown:?}");
}

pub fn hostile_words_are_refused_clearly_or_kept(world: &World) {
    let lead = world.start("lead", "l-1", &[], &[]);
    world.mail("lead", &["keeper"], "must stay");
    let (mut cases, mut kept) = (0, 0);
    for text in hostile() {
        let mut outcomes: Vec<(&str, Result<(), Refusal>)> = Vec::new();
        let subject = format!("case {cases}");
        outcomes.push((
            "address",
            text.parse::<Address>().and_then(|to| {
                let request = Send {
                    to: vec![to],
                    ..letter(&["x"], &subject)
                };
                world.call_as(&lead, &request).map(drop)
            }),
        ));
        outcomes.push((
            "agent",
            text.parse::<AgentName>().and_then(|name| {
                let caller = inbox_ops::Caller::local(Some(name));
                letter(&["keeper-2"], &subject)
                    .run(world.inbox(), &caller)
                    .map(drop)
            }),
        ));
        outcomes.push((
            "session",
            text.parse::<SessionId>().and_then(|id| {
                let caller = inbox_ops::Caller {
                    session: Some(id),
                    ..by("sitter")
                };
                SessionStart::default().run(world.inbox(), &caller)?;
                let beat = inbox_ops::SessionBeat::default().run(world.inbox(), &caller);
                beat.map(drop)
            }),
        ));
        let set = |role: &[&str], tag: &[&str], add: &[&str]| SessionSet {
            id: None,
            role: texts(role),
            tag: texts(tag),
            add: texts(add),
            drop: Vec::new(),
        };
        outcomes.push((
            "role",
            world.call_as(&lead, &set(&[&text], &[], &[])).map(drop),
        ));
        outcomes.push((
            "tag",
            world.call_as(&lead, &set(&[], &[&text], &[])).map(drop),
        ));
        outcomes.push((
            "label",
            world.call_as(&lead, &set(&[], &[], &[&text])).map(drop),
        ));
        let named = AgentAdd {
            slug: format!("named-{cases}").parse().ok(),
            name: Some(text.clone()),
            ..AgentAdd::default()
        };
        outcomes.push(("display name", world.call("lead", &named).map(drop)));
        for (what, outcome) in outcomes {
            cases += 1;
            match outcome {
                Err(refusal) => judge(what, &text, &refusal),
                Ok(()) => kept += 1,
            }
        }
    }
    assert!(cases > 700 && kept > 100, "{cases} cases, {kept} kept");
    assert_eq!(world.read(&by("keeper")), ["must stay"]);
    sound(world);
}

fn sound(world: &World) {
    let problems = world.inbox().store().check().expect("it can be checked");
    assert!(problems.is_empty(), "{problems:?}");
    let watch = Watch {
        after_event: Some(EventId(0)),
        ..Watch::default()
    };
    world
        .call("watcher", &watch)
        .expect("everything can be read");
}

pub fn extreme_numbers_and_lists_are_refused_clearly(world: &World) {
    let lead = world.start("lead", "l-1", &[], &[]);
    for hours in [0, -1, i64::MIN, i64::MAX, 87_601] {
        let request = Send {
            ttl_hours: Some(hours),
            ..letter(&["backend"], "ttl")
        };
        let refusal = world.call_as(&lead, &request).expect_err("out of range");
        assert_eq!(refusal.code, Code::InvalidInput);
        assert!(refusal.message.contains(&hours.to_string()));
    }
    for limit in [0, -1, i64::MAX, 10_001] {
        let request = Read {
            limit: Some(limit),
            ..Read::default()
        };
        assert_eq!(code(world.call_as(&lead, &request)), Code::InvalidInput);
    }
    for event in [-1, i64::MIN, i64::MAX] {
        let request = Read {
            after_event: Some(EventId(event)),
            ..Read::default()
        };
        world
            .call_as(&lead, &request)
            .expect("a cursor is any number");
    }
    let roles: Vec<String> = (0..10_000).map(|number| format!("r{number}")).collect();
    for request in [
        SessionStart {
            role: roles.clone(),
            ..SessionStart::default()
        },
        SessionStart {
            tag: roles.iter().map(|role| format!("t:{role}")).collect(),
            ..SessionStart::default()
        },
        SessionStart {
            role: vec![roles.join(",")],
            ..SessionStart::default()
        },
    ] {
        let refusal = world.call_as(&lead, &request).expect_err("too many");
        assert!(refusal.message.contains("10000"), "{}", refusal.message);
    }
    let to: Vec<String> = (0..65).map(|number| format!("agent-{number}")).collect();
    let names: Vec<&str> = to.iter().map(String::as_str).collect();
    assert_eq!(
        code(world.call_as(&lead, &letter(&names, "many"))),
        Code::InvalidInput
    );
    let sent = world.post(&lead, &letter(&names[..64], "just enough"));
    assert_eq!(sent.delivery.len(), 64);
    assert_eq!(world.read(&by("agent-63")), ["just enough"]);
    let same = vec!["Agent-1"; 64];
    assert_eq!(world.post(&lead, &letter(&same, "once")).delivery.len(), 1);
    let none = Ack {
        message: Vec::new(),
        thread: "thr_99999".parse().ok(),
    };
    assert_eq!(code(world.call_as(&lead, &none)), Code::ThreadNotFound);
    sound(world);
}

pub fn hostile_json_is_refused_or_comes_back_as_it_was(world: &World) {
    let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let objects = |depth: usize| format!("{}1{}", "{\"a\":".repeat(depth), "}".repeat(depth));
    let cases = [
        ("\"\\ud800\"".to_owned(), false),
        ("\"\\udc00\\ud800\"".to_owned(), false),
        ("\"\\ud83d\\ude00\"".to_owned(), true),
        ("\"\\u0000\"".to_owned(), true),
        (nested(10_000), false),
        (objects(10_000), false),
        (nested(60), true),
        (objects(60), true),
        ("1e400".to_owned(), true),
        ("-1e-400".to_owned(), true),
        ("1".repeat(5_000), true),
        (
            "0.1000000000000000000000000000000000000001".to_owned(),
            true,
        ),
        ("-0".to_owned(), true),
        ("NaN".to_owned(), false),
        ("Infinity".to_owned(), false),
        ("01".to_owned(), false),
        ("{\"a\":1,\"a\":2}".to_owned(), true),
        ("{\"\":{\"\":\"\"}}".to_owned(), true),
        ("{\"$serde_json::private::Number\":\"x\"}".to_owned(), false),
        ("[1,]".to_owned(), false),
        ("\"\t\"".to_owned(), false),
        ("\"\u{202e}\"".to_owned(), true),
        ("'a'".to_owned(), false),
        (String::new(), false),
    ];
    for (number, (text, is_json)) in cases.iter().enumerate() {
        let beginning: String = text.chars().take(40).collect();
        let json = format!(
            "{{\"to\":[\"backend\"],\"subject\":\"case {number}\",\"payload_json\":{text},\"context_json\":{text}}}"
        );
        let request: Send = match serde_json::from_str(&json) {
            Ok(request) => request,
            Err(error) => {
                assert!(!is_json, "{beginning}: {error}");
                continue;
            }
        };
        assert!(is_json, "{beginning}");
        let caller = keyed(&at("lead", "l-1"), &format!("k{number}"));
        let sent = world.call_as(&caller, &request).expect("it is JSON");
        let given = request.payload_json.unwrap_or(Value::Null);
        let shown = world.shown(sent.thread.thread_id);
        assert_eq!(
            shown[0].payload_json.to_string(),
            given.to_string(),
            "{beginning}"
        );
        let again: Send = serde_json::from_str(&json).expect("as before");
        let again = world
            .call_as(&caller, &again)
            .expect("a retry gives the first answer");
        assert_eq!(again.message.message_id, sent.message.message_id);
    }
    let count = world.unread(&by("backend")).len();
    let expected = cases.iter().filter(|(_, is_json)| *is_json).count();
    assert_eq!(count, expected, "nothing was lost");
    sound(world);
}

pub fn a_payload_that_can_be_sent_can_be_read_and_sent_again(world: &World) {
    // A page of mail is three levels deeper than its payloads, and JSON is read to a depth of 127.
    for depth in [1, 50, 100, 120, 124] {
        let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        let Ok(payload) = serde_json::from_str::<Value>(&text) else {
            continue;
        };
        let request = Send {
            payload_json: Some(payload),
            ..letter(&["backend"], &format!("depth {depth}"))
        };
        let caller = keyed(&by("lead"), &format!("d{depth}"));
        let Ok(sent) = world.call_as(&caller, &request) else {
            continue;
        };
        let again = world.call_as(&caller, &request);
        assert_eq!(
            again.map(|posted| posted.message.message_id),
            Ok(sent.message.message_id),
            "depth {depth}"
        );
        let mail = world
            .call_as(
                &keyed(&by("backend"), &format!("r{depth}")),
                &Read::default(),
            )
            .expect("a read");
        let repeated = world.call_as(
            &keyed(&by("backend"), &format!("r{depth}")),
            &Read::default(),
        );
        assert_eq!(
            repeated.map(|repeated| summaries(&repeated.messages)),
            Ok(summaries(&mail.messages)),
            "depth {depth}"
        );
    }
}

pub fn names_with_wildcards_reach_only_themselves(world: &World) {
    let one = world.start("a_b", "s_1", &["r_1"], &["t:x_y"]);
    let two = world.start("axb", "sx1", &["rx1"], &["t:xzy"]);
    for (number, to) in ["a_b", "s_1", "role:r_1", "t:x_y"].iter().enumerate() {
        world.mail("lead", &[to], &format!("m{number}"));
    }
    assert_eq!(world.unread(&one).len(), 4);
    assert!(world.unread(&two).is_empty());
    let set = AgentSet {
        slug: "a_b".parse().ok(),
        persona: Some("%' OR 1=1 --".into()),
        ..AgentSet::default()
    };
    let set = world.call("lead", &set).expect("any text");
    assert_eq!(set.agent.persona.as_deref(), Some("%' OR 1=1 --"));
    world.advance_ms(HOUR);
    sound(world);
}
