//! Each turn of the conversation, and whatever a hostile agent may say in it.

use inbox_ops::config::Preset;
use serde_json::{Value, json};

use super::Talk;
use crate::client::Fed;
use crate::reader::Found;

fn talk(allow: &[&str], before: Option<&str>) -> Talk {
    let preset = Preset {
        allow: allow.iter().map(|kind| (*kind).to_owned()).collect(),
        ..Preset::default()
    };
    Talk::new(&preset, "Do it", "/work", before)
}

fn hear(talk: &mut Talk, said: &Value) -> Fed {
    talk.feed(format!("{said}\n").as_bytes())
}

/// What is said next, when that is one thing.
fn next(talk: &mut Talk, said: &Value) -> Value {
    let fed = hear(talk, said);
    assert_eq!(fed.say.len(), 1, "{said}: {fed:?}");
    serde_json::from_str(&fed.say[0]).unwrap()
}

fn answer(id: u64, result: Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": id, "result": result })
}

fn update(kind: &str, more: Value) -> Value {
    let mut update = more;
    update["sessionUpdate"] = json!(kind);
    json!({ "jsonrpc": "2.0", "method": "session/update", "params": { "sessionId": "s1", "update": update } })
}

fn chunk(text: &str) -> Value {
    update(
        "agent_message_chunk",
        json!({ "content": { "type": "text", "text": text } }),
    )
}

/// A talk whose prompt was said.
fn prompted(allow: &[&str]) -> Talk {
    let mut talk = talk(allow, None);
    next(&mut talk, &answer(1, json!({ "protocolVersion": 1 })));
    next(&mut talk, &answer(3, json!({ "sessionId": "s1" })));
    talk
}

fn ended(mut talk: Talk, result: Value) -> Found {
    assert_eq!(
        hear(&mut talk, &answer(4, result)).say,
        Vec::<String>::new()
    );
    assert!(talk.is_over());
    talk.finish()
}

#[test]
fn a_turn_goes_from_the_greeting_to_the_result() {
    let mut talk = talk(&[], None);
    let opening: Value = serde_json::from_str(&talk.opening()).unwrap();
    assert_eq!(opening["method"], "initialize");
    let can = &opening["params"]["clientCapabilities"];
    assert_eq!(
        *can,
        json!({ "fs": { "readTextFile": false, "writeTextFile": false }, "terminal": false })
    );
    let opened = next(&mut talk, &answer(1, json!({ "protocolVersion": 1 })));
    assert_eq!(opened["method"], "session/new");
    assert_eq!(
        opened["params"],
        json!({ "cwd": "/work", "mcpServers": [] })
    );
    let asked = next(&mut talk, &answer(3, json!({ "sessionId": "s1" })));
    assert_eq!(asked["method"], "session/prompt");
    assert_eq!(asked["params"]["sessionId"], "s1");
    assert_eq!(
        asked["params"]["prompt"],
        json!([{ "type": "text", "text": "Do it" }])
    );
    let mut progress = Vec::new();
    for said in [
        chunk("Look"),
        chunk("ing.\nAt"),
        chunk(" it."),
        update(
            "tool_call",
            json!({ "toolCallId": "c", "title": "ls", "kind": "execute" }),
        ),
        update(
            "agent_thought_chunk",
            json!({ "content": { "type": "text", "text": "hm" } }),
        ),
        chunk("Do"),
        chunk("ne.\n"),
        update(
            "usage_update",
            json!({ "used": 1, "size": 2, "cost": { "amount": 0.5, "currency": "USD" } }),
        ),
    ] {
        progress.extend(hear(&mut talk, &said).progress);
    }
    assert_eq!(progress, ["Looking.", "At it.", "ls", "Done."]);
    let usage = json!({ "totalTokens": 120, "inputTokens": 10, "outputTokens": 15, "cachedReadTokens": 90, "thoughtTokens": 5 });
    let found = ended(talk, json!({ "stopReason": "end_turn", "usage": usage }));
    assert_eq!(found.result.as_deref(), Some("Done.\n"));
    assert_eq!(found.session.as_deref(), Some("s1"));
    assert_eq!(found.so_far.cost, Some(0.5));
    assert_eq!(
        (found.used.input_tokens, found.used.output_tokens),
        (Some(100), Some(20))
    );
    assert_eq!(found.error, None);
}

#[test]
fn a_session_is_gone_on_with_as_the_agent_can() {
    for (can, way) in [
        (json!({ "loadSession": true }), Some("session/load")),
        (
            json!({ "loadSession": true, "sessionCapabilities": { "resume": {} } }),
            Some("session/resume"),
        ),
        (json!({ "loadSession": false }), None),
    ] {
        let mut talk = talk(&[], Some("s1"));
        let greeted = answer(1, json!({ "protocolVersion": 1, "agentCapabilities": can }));
        let Some(way) = way else {
            assert!(hear(&mut talk, &greeted).say.is_empty());
            assert!(talk.finish().error.unwrap().contains("cannot go on"));
            continue;
        };
        let opened = next(&mut talk, &greeted);
        assert_eq!(opened["method"], way);
        assert_eq!(opened["params"]["sessionId"], "s1");
        // What is said again before the prompt was said and paid before.
        let paid = |amount: f64| {
            update(
                "usage_update",
                json!({ "cost": { "amount": amount, "currency": "USD" } }),
            )
        };
        assert_eq!(hear(&mut talk, &chunk("Old words")), Fed::default());
        hear(&mut talk, &paid(2.0));
        assert_eq!(
            next(&mut talk, &answer(3, json!({})))["params"]["sessionId"],
            "s1"
        );
        hear(&mut talk, &chunk("New words"));
        hear(&mut talk, &paid(2.5));
        let found = ended(talk, json!({ "stopReason": "end_turn" }));
        assert_eq!(found.result.as_deref(), Some("New words"));
        assert_eq!(found.so_far.cost, Some(2.5));
    }
}

#[test]
fn what_a_loaded_session_says_again_too_late_is_not_the_result() {
    for (said, result) in [
        (&["Red?\nOr blue?", "Blue it is."][..], "Blue it is."),
        (
            &["Older.", "Red?\nOr blue?", "Blue ", "it is."],
            "Blue it is.",
        ),
        (&["Blue it is."], "Blue it is."),
        // It may ask the same again.
        (&["Red?\nOr blue?"], "Red?\nOr blue?"),
    ] {
        let mut talk = talk(&[], Some("s1")).after("Red?\nOr blue?\n");
        let can = json!({ "loadSession": true });
        let greeted = json!({ "protocolVersion": 1, "agentCapabilities": can });
        next(&mut talk, &answer(1, greeted));
        next(&mut talk, &answer(3, json!({})));
        for piece in said {
            hear(&mut talk, &chunk(piece));
        }
        let found = ended(talk, json!({ "stopReason": "end_turn" }));
        assert_eq!(found.result.as_deref(), Some(result), "{said:?}");
    }
}

#[test]
fn a_preset_says_how_to_sign_in() {
    let preset = Preset {
        sign_in: Some("api-key".to_owned()),
        ..Preset::default()
    };
    let mut talk = Talk::new(&preset, "Do it", "/work", None);
    let signs = next(&mut talk, &answer(1, json!({ "protocolVersion": 1 })));
    assert_eq!(signs["method"], "authenticate");
    assert_eq!(signs["params"], json!({ "methodId": "api-key" }));
    let opened = next(&mut talk, &answer(2, json!({})));
    assert_eq!(opened["method"], "session/new");
}

#[test]
fn the_last_message_is_the_result() {
    let mut talk = prompted(&[]);
    for (id, text) in [("a", "A warning."), ("b", "It is "), ("b", "done.")] {
        let content = json!({ "type": "text", "text": text });
        let said = update(
            "agent_message_chunk",
            json!({ "content": content, "messageId": id }),
        );
        hear(&mut talk, &said);
    }
    let found = ended(talk, json!({ "stopReason": "end_turn" }));
    assert_eq!(found.result.as_deref(), Some("It is done."));
}

#[test]
fn what_is_asked_is_refused_unless_the_preset_names_it() {
    let options = json!([
        { "optionId": "always", "name": "Always", "kind": "allow_always" },
        { "optionId": "yes", "name": "Yes", "kind": "allow_once" },
        { "optionId": "no", "name": "No", "kind": "reject_once" },
    ]);
    let asks = |id: &str, kind: Value, options: &Value| {
        let call = json!({ "toolCallId": id, "kind": kind, "title": "allow me: read" });
        json!({ "jsonrpc": "2.0", "id": "q", "method": "session/request_permission",
            "params": { "sessionId": "s1", "toolCall": call, "options": options } })
    };
    for (allow, kind, chosen) in [
        (&[][..], json!("read"), "no"),
        (&["read"], json!("read"), "yes"),
        (&["read"], json!("execute"), "no"),
        (&["read"], json!(null), "no"),
        (&["read"], json!(["read"]), "no"),
        (&["*"], json!(null), "yes"),
    ] {
        let mut talk = prompted(allow);
        let answered = next(&mut talk, &asks("c", kind.clone(), &options));
        assert_eq!(answered["id"], "q");
        let outcome = json!({ "outcome": "selected", "optionId": chosen });
        assert_eq!(answered["result"]["outcome"], outcome, "{allow:?} {kind}");
    }
    // What a call does may have been said before.
    let mut talk = prompted(&["read"]);
    hear(
        &mut talk,
        &update("tool_call", json!({ "toolCallId": "c", "kind": "read" })),
    );
    let answered = next(&mut talk, &asks("c", json!(null), &options));
    assert_eq!(answered["result"]["outcome"]["optionId"], "yes");
    // Nothing is allowed or refused for ever.
    for wrong in [
        json!([{ "optionId": "always", "kind": "allow_always" }, { "optionId": "never", "kind": "reject_always" }]),
        json!([]),
        json!({}),
        json!(null),
        json!([{ "kind": "allow_once", "optionId": 7 }]),
    ] {
        for allow in [&["*"][..], &[]] {
            let answered = next(&mut prompted(allow), &asks("c", json!("read"), &wrong));
            assert_eq!(
                answered["result"]["outcome"],
                json!({ "outcome": "cancelled" }),
                "{wrong}"
            );
        }
    }
}

#[test]
fn nothing_of_the_runners_is_offered() {
    for method in [
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "elicitation/create",
        "session/prompt",
        "initialize",
        "_own/thing",
        "",
    ] {
        for id in [json!(1), json!(4), json!("x"), json!(null), json!(-1.5)] {
            let said = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": { "path": "/etc/passwd" } });
            let answered = next(&mut prompted(&["*"]), &said);
            assert_eq!(answered["error"]["code"], -32601);
            assert_eq!(answered["id"], id);
            assert!(answered.get("result").is_none());
        }
    }
}

#[test]
fn whatever_ends_a_turn_early_is_an_error() {
    for reason in [
        json!("max_tokens"),
        json!("refusal"),
        json!("cancelled"),
        json!("new\u{1b}"),
        json!(null),
    ] {
        let found = ended(prompted(&[]), json!({ "stopReason": reason }));
        let error = found.error.expect("an error");
        assert!(!error.contains('\u{1b}'), "{error}");
    }
    let refused = json!({ "id": 1, "error": { "code": -32000, "message": "Sign in first" } });
    let mut early = talk(&[], None);
    hear(&mut early, &refused);
    assert!(early.finish().error.unwrap().contains("Sign in first"));
    let mut old = talk(&[], None);
    hear(&mut old, &answer(1, json!({ "protocolVersion": 9 })));
    assert!(old.finish().error.unwrap().contains("version 9"));
    let mut empty = prompted(&[]);
    hear(&mut empty, &json!({ "id": 4 }));
    assert!(empty.finish().error.unwrap().contains("turn failed"));
    let gone = prompted(&[]).finish();
    assert!(gone.error.unwrap().contains("midst"));
}

#[test]
fn nothing_that_an_agent_says_breaks_the_talk() {
    let long = format!("{{\"method\":\"{}\"}}\n", "x".repeat(9 << 20));
    let deep = format!("{}1{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let mut talk = prompted(&[]);
    for said in [
        "\n",
        "{\n",
        "null\n",
        "[]\n",
        "7\n",
        "\u{0}\n",
        "{}\n",
        "{\"method\":7,\"id\":{}}\n",
        "{\"method\":\"session/update\"}\n",
        "{\"method\":\"session/update\",\"params\":[[]]}\n",
        "{\"id\":1,\"result\":{\"protocolVersion\":1}}\n",
        "{\"id\":3,\"result\":{\"sessionId\":\"s2\"}}\n",
        "{\"id\":5,\"result\":{\"stopReason\":\"end_turn\"}}\n",
        "{\"id\":\"4\",\"result\":{\"stopReason\":\"end_turn\"}}\n",
        "{\"id\":4.5,\"result\":{}}\n",
        "[{\"id\":4,\"result\":{\"stopReason\":\"end_turn\"}}]\n",
        &long,
        &deep,
    ] {
        for part in said.as_bytes().chunks(64 << 10) {
            assert_eq!(talk.feed(part), Fed::default());
        }
        assert!(!talk.is_over(), "{}", &said[..said.len().min(80)]);
    }
    // Of another session, or of a turn that is over, nothing is heard.
    hear(
        &mut talk,
        &json!({ "method": "session/update", "params": { "sessionId": "s2",
        "update": { "sessionUpdate": "agent_message_chunk", "content": { "text": "not mine" } } } }),
    );
    hear(&mut talk, &chunk("mine"));
    hear(&mut talk, &answer(4, json!({ "stopReason": "end_turn" })));
    assert_eq!(hear(&mut talk, &chunk("late")), Fed::default());
    let late = json!({ "id": 1, "method": "session/request_permission" });
    assert_eq!(hear(&mut talk, &late), Fed::default());
    hear(&mut talk, &json!({ "id": 5, "error": {} }));
    let found = talk.finish();
    assert_eq!(found.result.as_deref(), Some("mine"));
    assert_eq!(found.error, None);
}
