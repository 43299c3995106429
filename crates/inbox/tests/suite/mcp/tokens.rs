//! What the tools and their answers cost a model, counted with a real tokenizer.

use inbox_testkit::sandbox::Sandbox;
use inbox_torture::Dice;
use serde_json::{Value, json};

use super::client::Client;
use crate::INBOX;

#[track_caller]
fn tokens(text: &str) -> usize {
    tiktoken_rs::o200k_base_singleton()
        .encode_ordinary(text)
        .len()
}

#[test]
fn eight_tools_cost_less_than_seven_hundred_tokens() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::start(&sandbox, "quinn");
    let id = quinn.request("tools/list", &json!({}));
    let tools = quinn.answer(id)["result"]["tools"].clone();
    assert!(tools.as_array().unwrap().len() <= 8);
    let cost = tokens(&tools.to_string());
    assert!(cost <= 1_200, "the contract: {cost}");
    // What is for the client, and not for its model.
    let mut shown = tools.clone();
    for tool in shown.as_array_mut().unwrap() {
        let tool = tool.as_object_mut().unwrap();
        tool.shift_remove("annotations").expect("what it may do");
        tool.shift_remove("title").expect("a title");
    }
    let cost = tokens(&shown.to_string());
    assert!(cost <= 700, "our aim: {cost}");
    let names: Vec<&str> = tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"send_message") && names.contains(&"post_note"));
}

#[test]
fn a_client_knows_what_a_tool_may_do_before_it_asks_its_user() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::start(&sandbox, "quinn");
    let id = quinn.request("tools/list", &json!({}));
    let tools = quinn.answer(id)["result"]["tools"].clone();
    for tool in tools.as_array().unwrap() {
        let hint = |name: &str, otherwise: bool| {
            let hint = tool["annotations"].get(name);
            hint.map_or(otherwise, |hint| hint.as_bool().expect("a hint"))
        };
        let name = tool["name"].as_str().unwrap();
        assert!(tool["title"].is_string(), "{tool}");
        assert!(!hint("openWorldHint", true), "one store is all: {tool}");
        let only_reads = hint("readOnlyHint", false);
        assert_eq!(only_reads, name == "show_threads", "{tool}");
        // Work that is called off or done stays so; everything else only adds.
        let is_final = !only_reads && hint("destructiveHint", true);
        assert_eq!(is_final, name == "update_work", "{tool}");
    }
}

#[test]
fn what_every_session_pays_for_is_short() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::raw(&sandbox, &["mcp", "--agent", "quinn"], &[]);
    let hello = quinn.greet("test");
    let cost = tokens(hello["result"]["instructions"].as_str().unwrap());
    assert!(cost <= 60, "{cost}");
}

#[test]
fn spec_000s_tools_have_its_names_and_fields() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::start(&sandbox, "quinn");
    let id = quinn.request("tools/list", &json!({}));
    let tools = quinn.answer(id)["result"]["tools"].clone();
    let fields = |name: &str| {
        let tool = tools
            .as_array()
            .unwrap()
            .iter()
            .find(|tool| tool["name"] == name);
        tool.unwrap_or_else(|| panic!("there is no {name}"))["inputSchema"]["properties"].clone()
    };
    let send = fields("send_message");
    for (field, sort) in [
        ("to_agent", "string"),
        ("message_type", "string"),
        ("subject", "string"),
        ("payload", "object"),
        ("ref_id", "string"),
        ("priority", "integer"),
    ] {
        assert_eq!(send[field]["type"], sort, "{field}");
    }
    assert_eq!(
        send["ref_type"]["enum"],
        json!(["task", "phase", "stage", "project", "agent"])
    );
    let note = fields("post_note");
    for (field, sort) in [
        ("entity_id", "string"),
        ("note", "string"),
        ("notify", "array"),
    ] {
        assert_eq!(note[field]["type"], sort, "{field}");
    }
    assert_eq!(
        note["entity_type"]["enum"],
        json!(["task", "phase", "stage", "project"])
    );
}

#[test]
fn an_acknowledgement_is_a_few_tokens() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut quinn = Client::start(&sandbox, "quinn");
    sandbox.ok("agent add ada");
    for (tool, arguments) in [
        (
            "send_message",
            json!({ "to_agent": "ada", "subject": "A subject that need not be said again" }),
        ),
        ("reply", json!({ "thread_id": "thr_1", "summary": "Well" })),
    ] {
        let said = quinn.text(tool, &arguments);
        assert!(tokens(said.trim()) <= 8, "{tool}: {said}");
    }
}

/// Texts of many sorts, each long.
fn long_texts() -> Vec<String> {
    let noise = |n: usize| {
        let mut dice = Dice::new(7);
        (0..n)
            .map(|_| char::from(b'!' + u8::try_from(dice.below(94)).unwrap()))
            .collect::<String>()
    };
    let repeat = |text: &str| text.repeat(60_000 / text.len());
    vec![
        repeat("The quick brown fox jumps over the lazy dog. "),
        repeat("supercalifragilisticexpialidocious"),
        repeat("漢字仮名交じり文 "),
        repeat("Съешь же ещё этих мягких французских булок. "),
        repeat("🦀🧵📬 "),
        repeat("ᚠᛇᚻ᛫ᛒᛦᚦ "),
        repeat("\u{1b}[31m"),
        repeat("{\"a\":[1,2,{\"b\":null}]}\n"),
        repeat("0123456789abcdef"),
        repeat("x\n\n\n\n"),
        repeat("a b\tc\n  d\n"),
        noise(60_000),
    ]
}

#[test]
fn no_answer_costs_more_than_two_thousand_tokens_and_each_says_how_to_go_on() {
    for body in long_texts() {
        let sandbox = Sandbox::in_memory(INBOX);
        let mut ada = Client::start(&sandbox, "ada");
        for n in 0..3 {
            let subject: String = body.chars().filter(|c| !c.is_control()).take(150).collect();
            let subject = format!("{n} {subject}");
            let sent = ada.call(
                "send_message",
                &json!({ "to_agent": "quinn", "subject": subject, "kind": "task", "body": body }),
            );
            assert_eq!(sent["ok"], true, "{sent}");
        }
        let mut quinn = Client::start(&sandbox, "quinn");
        for (tool, arguments) in [
            ("claim_work", json!({})),
            ("show_threads", json!({ "thread_id": "thr_1" })),
            ("show_threads", json!({})),
            ("check_inbox", json!({})),
        ] {
            let said = quinn.text(tool, &arguments);
            let cost = tokens(&said);
            assert!(
                cost <= 2_000,
                "{tool}: {cost} tokens of {:?}",
                body.chars().take(20).collect::<String>()
            );
            if tool != "show_threads" || arguments.get("thread_id").is_some() {
                assert!(said.contains('…'), "{tool} does not say that there is more");
            }
        }
        // One was shown, in part: the others are still unread.
        assert_eq!(
            quinn.call("check_inbox", &json!({ "peek": true }))["unread"],
            2
        );
    }
}

#[test]
fn the_parts_of_a_long_thread_make_the_whole() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut ada = Client::start(&sandbox, "ada");
    let body: String = (0..2_000).map(|n| format!("line {n} of many\n")).collect();
    ada.call(
        "send_message",
        &json!({ "to_agent": "quinn", "subject": "Long", "body": body }),
    );
    let mut quinn = Client::start(&sandbox, "quinn");
    let mut offset = 0;
    let mut lines = Vec::new();
    loop {
        let said = quinn.text(
            "show_threads",
            &json!({ "thread_id": "thr_1", "offset": offset }),
        );
        let start = said.find('\n').unwrap() + 1;
        let end = said.find("</mail-").unwrap();
        lines.extend(said[start..end].lines().map(str::to_owned));
        let Some(at) = said.find("with offset ") else {
            break;
        };
        let number: String = said[at + 12..]
            .chars()
            .take_while(char::is_ascii_digit)
            .collect();
        offset = number.parse().unwrap();
    }
    let wanted: Vec<String> = body.lines().map(|line| format!("  {line}")).collect();
    assert_eq!(lines[2..], wanted);
}

#[test]
fn ten_messages_cost_little_more_than_what_they_say() {
    let sandbox = Sandbox::in_memory(INBOX);
    let mut ada = Client::start(&sandbox, "ada");
    let mut content = 0;
    for n in 0..10 {
        let subject = format!("Review the change to the parser, part {n}");
        content += tokens(&subject);
        ada.call(
            "send_message",
            &json!({ "to_agent": "quinn", "subject": subject }),
        );
    }
    let mut quinn = Client::start(&sandbox, "quinn");
    let result = quinn.result("check_inbox", &json!({}));
    let cost = tokens(&super::client::text(&result));
    let json: &Value = &result["structuredContent"];
    assert!(cost <= 4 * content, "{cost} tokens for {content}");
    assert!(
        cost * 4 <= tokens(&json.to_string()),
        "{cost} tokens, and JSON is no dearer"
    );
}
