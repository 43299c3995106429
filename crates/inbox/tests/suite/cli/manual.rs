//! What explains the commands: man pages, `help`, and what is said where a group has no command.

use super::desk::{Desk, text};
use super::misc::{COMMANDS, GROUPS};

/// The pages that a page of manual names, such as inbox-token-create.
pub(crate) fn named_pages(page: &str) -> Vec<String> {
    let plain = page
        .replace("\\-", "-")
        .replace("\\fB", "")
        .replace("\\fR", "");
    let words = plain.split_whitespace();
    words
        .filter_map(|word| Some(word.split_once("(1)")?.0.to_owned()))
        .collect()
}

#[test]
fn every_page_that_a_man_page_names_is_written() {
    let desk = Desk::new();
    let answer = desk.ok("man --dir deep/pages");
    let pages: Vec<_> = answer["pages"]
        .as_array()
        .unwrap()
        .iter()
        .map(text)
        .collect();
    let mut named = Vec::new();
    for page in &pages {
        let page = desk.content(&format!("deep/pages/{page}"));
        assert!(
            page.contains("inbox 0.") && page.contains(".SH \"EXIT STATUS\""),
            "{page}"
        );
        named.extend(named_pages(&page));
    }
    let is_there = |name: &str| {
        pages
            .iter()
            .any(|page| page.strip_suffix(".1") == Some(name))
    };
    let missing: Vec<_> = named.iter().filter(|name| !is_there(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
    for command in COMMANDS {
        assert!(named.contains(&format!("inbox-{command}")), "{command}");
    }
    for (group, words) in GROUPS {
        for word in *words {
            assert!(
                named.contains(&format!("inbox-{group}-{word}")),
                "{group} {word}"
            );
        }
    }
    assert!(
        named.contains(&"inbox-hcs-registry-create".to_owned()),
        "{named:?}"
    );
}

#[test]
fn man_prints_the_page_with_what_holds_for_every_command() {
    let desk = Desk::new();
    let page = desk.inbox.run(["man"]);
    assert_eq!(page.code, 0);
    for part in [
        ".TH inbox 1",
        "EXIT STATUS",
        "lease_conflict",
        "ENVIRONMENT",
        "INBOX_DB",
        "INBOX_AGENT",
        "FILES",
        "coord.db",
    ] {
        assert!(page.stdout.contains(part), "{part}: {page}");
    }
    let error = desk.refused(30, "invalid_input", "man --dir .agents/coord.db/pages");
    assert!(
        text(&error["message"]).contains("coord.db/pages"),
        "{error}"
    );
    assert!(text(&error["hint"]).contains("inbox man --dir"), "{error}");
}

#[test]
fn help_and_version_are_commands_that_print_what_the_flags_print() {
    let desk = Desk::new();
    for line in [
        &[][..],
        &["send"],
        &["token"],
        &["token", "create"],
        &["hcs", "registry", "create"],
    ] {
        let by_flag = desk.inbox.run([line, &["--help"]].concat());
        let by_command = desk.inbox.run([&["help"], line].concat());
        assert_eq!(
            (by_command.code, by_command.stderr.as_str()),
            (0, ""),
            "{by_command}"
        );
        assert_eq!(by_command.stdout, by_flag.stdout, "{line:?}");
    }
    let by_flag = desk.inbox.run(["--version"]);
    assert_eq!(desk.inbox.run(["version"]).stdout, by_flag.stdout);
    assert!(text(&desk.ok("help send")["text"]).contains("inbox send"));
    let error = desk.refused(30, "invalid_input", "help token frob");
    assert!(text(&error["message"]).contains("frob"), "{error}");
    assert!(
        text(&error["hint"]).contains("create, list, revoke"),
        "{error}"
    );
}

#[test]
fn a_group_without_a_command_names_its_own() {
    let desk = Desk::new();
    for (line, group) in [
        ("agent", "agent"),
        ("token frob", "token"),
        ("hcs", "hcs"),
        ("--db x.db session", "session"),
    ] {
        let error = desk.refused(30, "invalid_input", line);
        let hint = text(&error["hint"]);
        assert!(
            hint.contains(&format!("inbox {group} --help")),
            "{line}: {error}"
        );
        assert!(
            hint.contains("list") || hint.contains("registry"),
            "{line}: {error}"
        );
        assert!(
            text(&error["message"]).contains(line.split(' ').next_back().unwrap()),
            "{error}"
        );
    }
}
