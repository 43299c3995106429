//! Hostile words, numbers and texts, end to end.

use super::desk::args;
use super::hostile::{is_clear, refused, trapped};

#[test]
fn words_of_the_roster_that_are_not_words_are_refused() {
    let desk = trapped();
    let long = "x".repeat(100_000);
    for line in [
        vec!["agent", "add", ""],
        vec!["agent", "add", "b\u{202e}d"],
        vec!["agent", "add", "../../x"],
        vec!["agent", "add", "x\n"],
        vec!["agent", "add", &long],
        vec!["agent", "set", "backend", "--name", ""],
        vec!["agent", "set", "backend", "--name", &long],
        vec![
            "agent",
            "set",
            "backend",
            "--account-id",
            "0.0.99999999999999999999999",
        ],
        vec!["agent", "show", "b\u{430}ckend"],
        vec![
            "session",
            "start",
            "--agent",
            "backend",
            "--session",
            "a\tb",
        ],
        vec![
            "session",
            "start",
            "--agent",
            "backend",
            "--session",
            "s\u{e9}",
        ],
        vec!["session", "start", "--agent", "backend", "--role", "role:"],
        vec![
            "session",
            "start",
            "--agent",
            "backend",
            "--tag",
            "project:\u{202e}x",
        ],
        vec!["session", "set", "s1", "--tag", &long],
        vec!["session", "list", "--state", ""],
    ] {
        is_clear(&refused(&desk, &line), "");
    }
}

#[test]
fn numbers_and_ids_out_of_range_are_refused() {
    let desk = trapped();
    for line in [
        vec![
            "read",
            "--agent",
            "backend",
            "--limit",
            "99999999999999999999",
        ],
        vec!["read", "--agent", "backend", "--after-event", "1e3"],
        vec!["ack", "--agent", "backend", "msg_"],
        vec!["ack", "--agent", "backend", "msg_zzzzzzzzzzzzzzzzzzzzzz"],
        vec!["ack", "--agent", "backend", "msg_\u{661}"],
        vec!["receipts", "msg_-1"],
        vec!["receipts", "MSG"],
        vec!["dead-letters", "--limit", "-1"],
        vec![
            "dead-letters",
            "readdress",
            "--agent",
            "lead",
            "msg_1",
            "--to",
            "",
        ],
        vec!["archive", "--keep", "9223372036854775808"],
        vec!["archive", "--older-than-days", "1.5"],
        vec!["search", "x", "--limit", "0x10"],
        vec!["search", "x", "--since", "-1h"],
        vec!["search", "\u{202e}\u{200b}"],
        vec![
            "export",
            "--format",
            "mailbox",
            "--after-event",
            "99999999999999999999",
        ],
        vec!["export", "--format", ""],
        vec!["export", "--dir", "huge"],
        vec![
            "note", "--agent", "backend", "--ref", "task:\n", "--note", "x",
        ],
        vec![
            "note",
            "--agent",
            "backend",
            "--ref",
            "task:T",
            "--note",
            "x",
            "--priority",
            "0",
        ],
        vec!["show", "--ref", "task:"],
        vec![
            "prompt",
            "--agent",
            "backend",
            "--thread",
            "thr_99999999999999999999",
        ],
        vec!["wire", "new", ""],
        vec!["wire", "schema", "../brief"],
    ] {
        is_clear(&refused(&desk, &line), "");
    }
}

#[test]
fn a_note_that_is_a_book_is_too_large() {
    let desk = trapped();
    desk.file("book", "x".repeat((256 << 10) + 1));
    let line = [
        "note",
        "--agent",
        "backend",
        "--ref",
        "task:T",
        "--note-file",
        "book",
    ];
    let error = refused(&desk, &line);
    assert_eq!(error["code"], "too_large", "{error}");
    for file in ["empty", "utf8", "folder", "loop", "none"] {
        let line = [
            "note",
            "--agent",
            "backend",
            "--ref",
            "task:T",
            "--note-file",
            file,
        ];
        is_clear(&refused(&desk, &line), "");
    }
}

#[test]
fn what_people_see_of_hostile_text_is_harmless() {
    let desk = trapped();
    let hostile = "\u{1b}[2J\u{202e}red\u{7}\u{9b}31m";
    let line = [
        "note", "--agent", "backend", "--ref", "task:T", "--note", hostile, "--notify", "lead",
    ];
    desk.inbox.run(args(&line)).ok();
    desk.inbox
        .run(args(&["agent", "set", "backend", "--persona", hostile]))
        .ok();
    for line in [
        vec!["read", "--agent", "lead", "--peek"],
        vec!["show", "--ref", "task:T"],
        vec!["show", "--ref", "task:T", "--wire"],
        vec!["agent", "show", "backend"],
        vec!["prompt", "--agent", "backend"],
        vec!["search", "red*"],
        vec!["search", "31m"],
    ] {
        let outcome = desk.inbox.run(&line);
        for bad in ['\u{1b}', '\u{202e}', '\u{7}', '\u{9b}'] {
            assert!(!outcome.stdout.contains(bad), "{line:?}: {bad:?} {outcome}");
        }
    }
}
