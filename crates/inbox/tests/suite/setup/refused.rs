//! What is refused, and that a refusal leaves every file as it was.

use super::home::{BY_HAND, CLIENTS, Home};

#[test]
fn a_file_that_cannot_be_read_is_named_and_nothing_is_written() {
    for (client, name, content) in BY_HAND {
        if *client == "claude" {
            continue;
        }
        for broken in [
            content.replacen('"', "", 1),
            "[1, 2".to_owned(),
            content
                .replace("mcp_servers.files", "mcp_servers")
                .replace("{ \"files\":", "[ \"files\","),
        ] {
            if broken == *content {
                continue;
            }
            let home = Home::lived_in();
            home.write(name, &broken);
            let before = home.tree();
            // The others are not written either: one answer, one effect.
            let outcome = home.setup(&format!("{} --yes", CLIENTS.join(" ")));
            if outcome.code == 0 && name.ends_with("toml") {
                continue;
            }
            let error = outcome.refused(30, "invalid_input")["error"].clone();
            let message = error["message"].as_str().unwrap();
            assert!(message.contains(&format!("~/{name}")), "{message}");
            let hint = error["hint"].as_str().unwrap();
            assert!(hint.starts_with(&format!("inbox setup {client}")), "{hint}");
            assert_eq!(home.tree(), before);
        }
    }
}

#[test]
fn a_server_list_that_is_no_table_is_refused() {
    for (client, name, content) in [
        ("codex", ".codex/config.toml", "mcp_servers = 3\n"),
        ("codex", ".codex/hooks.json", "{ \"hooks\": [] }"),
        ("gemini", ".gemini/settings.json", "{ \"mcpServers\": [] }"),
        (
            "cursor",
            ".cursor/hooks.json",
            "{ \"hooks\": { \"stop\": {} } }",
        ),
        ("opencode", ".config/opencode/opencode.json", "[]"),
    ] {
        let home = Home::new();
        home.write(name, content);
        let before = home.tree();
        home.setup(&format!("{client} --yes"))
            .refused(30, "invalid_input");
        assert_eq!(home.tree(), before);
    }
}

#[test]
fn a_read_only_file_is_left_alone() {
    for (client, name, _) in BY_HAND {
        if *client == "claude" {
            continue;
        }
        let home = Home::lived_in();
        home.chmod(name, 0o444);
        let before = home.tree();
        let answer = home
            .setup(&format!("{client} --yes"))
            .refused(30, "not_allowed");
        let hint = answer["error"]["hint"].as_str().unwrap();
        assert!(hint.starts_with(&format!("chmod u+w ~/{name}")), "{hint}");
        assert_eq!(home.tree(), before);
        home.chmod(name, 0o644);
        home.setup(&format!("{client} --yes")).ok();
        home.chmod(name, 0o444);
        let wired = home.tree();
        home.setup(&format!("{client} --remove --yes"))
            .refused(30, "not_allowed");
        assert_eq!(home.tree(), wired);
    }
}

#[test]
fn without_a_terminal_nothing_is_written_unless_told() {
    let home = Home::lived_in();
    let before = home.tree();
    home.setup("codex").refused(30, "invalid_input");
    let said = home.inbox.run(["setup", "codex"]);
    assert_eq!(said.code, 30);
    // The difference is shown all the same.
    assert!(said.stdout.contains("+ [mcp_servers.inbox]"), "{said}");
    assert!(said.stderr.contains("hint: inbox setup --yes"), "{said}");
    assert_eq!(home.tree(), before);
}

#[test]
fn an_unknown_client_is_refused_with_the_known_ones() {
    let home = Home::new();
    let answer = home.setup("emacs --yes").refused(30, "invalid_input");
    let hint = answer["error"]["hint"].as_str().unwrap();
    assert_eq!(
        hint,
        "inbox setup takes claude, codex, gemini, opencode, cursor, agy"
    );
}

#[test]
fn no_secret_of_a_configuration_is_said_in_a_refusal() {
    let home = Home::new();
    home.write(
        ".gemini/settings.json",
        "{ \"env\": { \"TOKEN\": \"hunter2\" }",
    );
    let outcome = home.setup("gemini --yes");
    outcome.refused(30, "invalid_input");
    assert!(!outcome.stdout.contains("hunter2"), "{outcome}");
    home.write(".codex/config.toml", "token = \"hunter2\nx = 1\n");
    let outcome = home.setup("codex --yes");
    outcome.refused(30, "invalid_input");
    assert!(!outcome.stdout.contains("hunter2"), "{outcome}");
}
