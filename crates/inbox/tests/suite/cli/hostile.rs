//! Hostile input, end to end: every case is refused or taken by a rule, said clearly, and leaves no other trace.

use std::os::unix::fs::symlink;

use serde_json::Value;

use super::desk::{Desk, args, said, text};

/// A desk with a folder full of bad files.
pub(super) fn trapped() -> Desk {
    let desk = Desk::new();
    desk.ok("agent add backend");
    desk.ok("session start --agent backend --session s1");
    desk.send("--to backend");
    desk.file("empty", "");
    desk.file("blank", " \n\t\n");
    desk.file("utf8", [b'{', 0xff, 0xfe, b'}']);
    desk.file("nul", "{\"a\":\"\0\"}");
    desk.file("huge", vec![b' '; (1 << 20) + 1]);
    desk.file("deep", "[".repeat(100_000));
    desk.file("twice", "{\"wire\":\"1.0\",\"wire\":\"1.0\"}");
    desk.file("number", "{\"wire\":1e999}");
    desk.file("list", "[1,2]");
    desk.file("text", "\"words\"");
    desk.file("null", "null");
    desk.file("more", "{} {}");
    desk.file("cut", "{\"wire\":\"1.0\",");
    desk.file("bom", "\u{feff}{\"wire\":\"1.0\"}");
    desk.file(
        "database",
        b"SQLite format 3\0 and then nothing of the sort",
    );
    std::fs::create_dir(desk.inbox.folder().join("folder")).unwrap();
    symlink("loop", desk.inbox.folder().join("loop")).unwrap();
    symlink("nowhere", desk.inbox.folder().join("dangling")).unwrap();
    desk
}

const FILES: [&str; 18] = [
    "empty", "blank", "utf8", "nul", "huge", "deep", "twice", "number", "list", "text", "null",
    "more", "cut", "bom", "folder", "loop", "dangling", "none",
];

/// That it was refused as bad input, in words of bounded length, and names what was given.
#[track_caller]
pub(super) fn is_clear(error: &Value, given: &str) {
    let message = text(&error["message"]);
    assert!(message.len() < 2_000, "{} bytes", message.len());
    assert!(
        message.contains(given) || error["details"].to_string().contains(given),
        "{given}: {error}"
    );
    let said = said(error);
    assert!(
        !said.contains('\0') && !said.contains('\u{202e}') && !said.contains("panicked"),
        "{said}"
    );
}

#[track_caller]
pub(super) fn refused(desk: &Desk, line: &[&str]) -> Value {
    let args = args(line);
    let before = desk.snapshot();
    let outcome = desk.inbox.run(&args);
    assert_eq!(outcome.code, 30, "{line:?}: {outcome}");
    assert!(outcome.stderr.is_empty(), "{outcome}");
    assert_eq!(before, desk.snapshot(), "{line:?} left a trace");
    outcome.json()["error"].clone()
}

#[test]
fn files_that_are_no_wires_are_refused_by_name() {
    let desk = trapped();
    for file in FILES {
        let error = refused(&desk, &["wire", "validate", file]);
        is_clear(&error, file);
    }
}

#[test]
fn files_that_are_no_briefs_open_no_work() {
    let desk = trapped();
    for file in FILES {
        let line = [
            "send",
            "--from",
            "lead",
            "--to",
            "backend",
            "--subject",
            "s",
            "--brief",
            file,
        ];
        is_clear(&refused(&desk, &line), "");
    }
}

#[test]
fn files_that_are_no_cards_are_nobodys() {
    let desk = trapped();
    for file in FILES {
        is_clear(&refused(&desk, &["card", "validate", file]), "");
        is_clear(&refused(&desk, &["card", "set", "backend", file]), "");
        is_clear(
            &refused(&desk, &["agent", "set", "backend", "--card", file]),
            "",
        );
    }
    assert_eq!(desk.ok("agent show backend")["agent"]["has_card"], false);
}

#[test]
fn files_that_are_no_mail_are_imported_by_nobody() {
    let desk = trapped();
    for file in [
        "utf8", "nul", "deep", "twice", "number", "text", "null", "bom", "folder", "loop",
        "dangling", "none", "database",
    ] {
        let before = desk.snapshot();
        let outcome = desk.run(&format!("import {file}"));
        let answer = outcome.json();
        // What is mail by its looks is reported line by line; what is none is refused.
        if outcome.code == 0 {
            assert_eq!(answer["added"], 0, "{file}: {outcome}");
            assert!(
                !answer["bad"].as_array().unwrap().is_empty(),
                "{file}: {outcome}"
            );
        } else {
            assert_eq!(outcome.code, 30, "{file}: {outcome}");
            is_clear(&answer["error"], file);
        }
        assert_eq!(before, desk.snapshot(), "{file} left a trace");
    }
    for file in ["empty", "blank"] {
        let answer = desk.ok(&format!("import {file}"));
        assert_eq!(answer["added"], 0, "{file}");
    }
    let both = refused(&desk, &["import", "empty", "none"]);
    is_clear(&both, "none");
}

#[test]
fn lines_of_a_mailbox_that_go_too_far_are_bad_and_no_others() {
    let desk = trapped();
    let line = |n: u32, key: &str, value: &str| {
        let mut fields = vec![
            ("id", format!("\"00000000-0000-4000-8000-{n:012}\"")),
            ("sender", "\"lead\"".to_owned()),
            ("recipient", "\"backend\"".to_owned()),
            ("timestamp", "\"2026-03-16T14:30:00Z\"".to_owned()),
            ("content", "\"c\"".to_owned()),
            ("thread", "null".to_owned()),
            ("ttl_hours", "null".to_owned()),
            ("read_by", "[]".to_owned()),
        ];
        for field in &mut fields {
            if field.0 == key {
                value.clone_into(&mut field.1);
            }
        }
        let fields: Vec<_> = fields
            .iter()
            .map(|(key, value)| format!("{key:?}:{value}"))
            .collect();
        format!("{{{}}}", fields.join(","))
    };
    let long = format!("\"{}\"", "x".repeat((1 << 20) + 1));
    let cases = [
        ("content", long.as_str()),
        ("content", "7"),
        ("content", "{\"a\":1}"),
        ("timestamp", "\"99999-01-01T00:00:00Z\""),
        ("timestamp", "\"\""),
        ("timestamp", "12"),
        ("id", "null"),
        ("id", "\"\""),
        ("sender", "null"),
        ("sender", "[]"),
        ("recipient", "null"),
        ("recipient", "{}"),
        ("ttl_hours", "\"soon\""),
        ("read_by", "7"),
    ];
    let mut file = String::new();
    for (n, (key, value)) in (1..).zip(cases) {
        file.push_str(&line(n, key, value));
        file.push('\n');
    }
    file.push_str(&line(99, "", ""));
    desk.file("m.jsonl", file);
    let answer = desk.ok("import m.jsonl");
    let bad = answer["bad"].as_array().unwrap();
    let taken = answer["added"].as_u64().unwrap();
    assert_eq!(
        usize::try_from(taken).unwrap() + bad.len(),
        cases.len() + 1,
        "{answer}"
    );
    assert!(bad.len() >= 12, "{answer}");
    for bad in bad {
        assert!(text(&bad["place"]).starts_with("line "), "{bad}");
        assert!((1..500).contains(&text(&bad["problem"]).len()), "{bad}");
    }
    desk.ok("doctor");
}

#[test]
fn configuration_that_cannot_be_read_is_refused_by_its_file_and_is_not_repeated_at_length() {
    let desk = trapped();
    let path = desk.inbox.folder().join(".agents/inbox.toml");
    for content in [
        vec![0xff, 0xfe],
        vec![0; 3 << 20],
        vec![b'['; 5000],
        b"a = \"\0\"".to_vec(),
        "a\u{202e} = 1".as_bytes().to_vec(),
        b"[guard]\nmax_turns = 1e999".to_vec(),
        b"[guard]\nmax_turns = nan".to_vec(),
        format!("x = \"{}\"", "y".repeat(900_000)).into_bytes(),
        format!("a{} = 1", ".a".repeat(5000)).into_bytes(),
    ] {
        std::fs::write(&path, &content).unwrap();
        let error = desk.run("list").refused(30, "invalid_input")["error"].clone();
        is_clear(&error, "inbox.toml");
    }
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    is_clear(
        &desk.run("list").refused(30, "invalid_input")["error"],
        "inbox.toml",
    );
    std::fs::remove_dir(&path).unwrap();
    symlink("inbox.toml", &path).unwrap();
    is_clear(
        &desk.run("list").refused(30, "invalid_input")["error"],
        "inbox.toml",
    );
    std::fs::remove_file(&path).unwrap();
    desk.ok("list");
}
