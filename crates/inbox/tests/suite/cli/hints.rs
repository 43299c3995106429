//! Hints that lead where they say: what is wrong with a place is not taken for a damaged store.

use super::desk::{Desk, text};

#[test]
fn a_folder_in_the_place_of_a_store_is_not_taken_for_a_damaged_one() {
    let desk = Desk::new();
    for (line, meant) in [
        ("list --db .", "inbox --db ./.agents/coord.db"),
        ("init --db .agents", "inbox --db .agents/coord.db"),
        ("list --db /etc", "inbox --db /etc/coord.db"),
        ("migrate --from . --to new.db", "coord.db"),
        ("list --db /dev/null", "inbox --db PATH"),
    ] {
        let error = desk.refused(50, "store_corrupt", line);
        let hint = text(&error["hint"]);
        assert!(hint.contains(meant), "{line}: {error}");
        assert!(!hint.contains("backup"), "{line}: {error}");
    }
}

#[test]
fn a_store_that_is_damaged_says_how_to_go_back_to_a_copy() {
    let desk = Desk::new();
    desk.file("other.db", "no store");
    let error = desk.refused(50, "store_corrupt", "list --db other.db");
    let hint = text(&error["hint"]);
    assert!(hint.starts_with("inbox doctor"), "{error}");
    assert!(
        hint.contains("mv the store") && hint.contains("cp the newest inbox backup"),
        "{error}"
    );
    assert!(hint.contains("coord.db*"), "{error}");
}

#[test]
fn a_place_where_no_file_can_be_is_no_reason_to_repeat_with_a_key() {
    let desk = Desk::new();
    for line in ["backup --to missing/x", "init --db /proc/x.db"] {
        let error = desk.refused(50, "storage", line);
        let hint = text(&error["hint"]);
        assert!(
            !hint.contains("--key") && hint.contains("folder"),
            "{line}: {error}"
        );
    }
}

#[test]
fn a_url_that_is_none_is_bad_input() {
    let desk = Desk::new();
    let token = [("INBOX_TOKEN", "z")];
    for url in ["https://exa~mple", "http://[::1"] {
        let outcome = desk.with(&token, &format!("list --db {url}"));
        let error = &outcome.refused(30, "invalid_input")["error"];
        assert!(
            text(&error["hint"]).contains("inbox --db https://"),
            "{error}"
        );
    }
}

#[test]
fn a_devnet_that_cannot_open_its_file_does_not_ask_to_throw_it_away() {
    let desk = Desk::new();
    desk.file(
        "text.db",
        "no ledger, and longer than a header of SQLite is, so that it is read as one: ".repeat(4),
    );
    for place in ["/proc/x.db", "text.db"] {
        let flags = "--node 127.0.0.1:0 --mirror 127.0.0.1:0 --rest 127.0.0.1:0";
        let outcome = desk.run(&format!("devnet --data {place} {flags}"));
        let error = &outcome.refused(50, "storage")["error"];
        let hint = text(&error["hint"]);
        assert!(
            !hint.contains("reset") && hint.contains("--data FILE"),
            "{place}: {error}"
        );
    }
}

#[test]
fn a_reset_throws_no_file_away_that_was_never_a_devnet() {
    let desk = Desk::new();
    desk.file("notes.txt", "what I must not forget: ".repeat(40));
    desk.refused(30, "invalid_input", "devnet reset --data notes.txt");
    assert!(desk.content("notes.txt").starts_with("what I must not"));
}

#[test]
fn a_file_that_is_no_proof_is_bad_input() {
    let desk = Desk::new();
    desk.file("text", "root:x:0:0");
    let error = desk.refused(30, "invalid_input", "verify --proof text");
    let message = text(&error["message"]);
    assert!(message.starts_with("text is not a proof"), "{error}");
    assert!(text(&error["hint"]).starts_with("inbox proof"), "{error}");
}
