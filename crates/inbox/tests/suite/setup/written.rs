//! What is written, and that what was there stays.

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;

use super::home::{BY_HAND, CLIENTS, Home, changes};
use crate::INBOX;

#[test]
fn claude_gets_one_folder_and_nothing_else() {
    let home = Home::lived_in();
    let before = home.tree();
    home.setup("claude --yes").ok();
    let folder = ".claude/skills/inbox";
    let new: Vec<_> = home
        .tree()
        .into_keys()
        .filter(|path| !before.contains_key(path) && home.path(path.to_str().unwrap()).is_file())
        .map(|path| path.strip_prefix(folder).unwrap().display().to_string())
        .collect();
    assert_eq!(
        new,
        [
            ".claude-plugin/plugin.json",
            ".mcp.json",
            "SKILL.md",
            "hooks/hooks.json",
            "monitors/monitors.json",
        ]
    );
    let hooks = home.json(&format!("{folder}/hooks/hooks.json"));
    for (name, event) in [
        ("SessionStart", "session-start"),
        ("UserPromptSubmit", "prompt"),
        ("PostToolUse", "after-tool"),
        ("Stop", "stop"),
        ("SessionEnd", "end"),
        ("PreCompact", "compact"),
    ] {
        let command = &hooks["hooks"][name][0]["hooks"][0]["command"];
        assert_eq!(*command, format!("{INBOX} hook claude {event}"));
    }
    let servers = home.json(&format!("{folder}/.mcp.json"));
    let server = json!({ "command": INBOX, "args": ["mcp"] });
    assert_eq!(servers["mcpServers"]["inbox"], server);
    let monitors = home.json(&format!("{folder}/monitors/monitors.json"));
    assert_eq!(monitors[0]["command"], format!("{INBOX} monitor claude"));
    assert_eq!(home.read(".claude/settings.json"), BY_HAND[0].2);
}

#[test]
fn each_client_gets_its_server_its_hooks_and_the_skill() {
    let home = Home::new();
    home.setup(&format!("{} --yes", CLIENTS.join(" "))).ok();
    let server = format!("[mcp_servers.inbox]\ncommand = \"{INBOX}\"\nargs = [\"mcp\"]\n");
    assert_eq!(home.read(".codex/config.toml"), server);
    let codex = home.json(".codex/hooks.json");
    let start = &codex["hooks"]["SessionStart"][0]["hooks"][0];
    assert_eq!(
        start["command"],
        format!("{INBOX} hook codex session-start")
    );
    let plain = json!({ "command": INBOX, "args": ["mcp"] });
    let gemini = home.json(".gemini/settings.json");
    assert_eq!(gemini["mcpServers"]["inbox"], plain);
    let stop = &gemini["hooks"]["AfterAgent"][0]["hooks"][0];
    // Its time-outs are in milliseconds.
    assert_eq!(
        *stop,
        json!({ "type": "command", "command": format!("{INBOX} hook gemini stop"), "timeout": 10000 })
    );
    let opencode = home.json(".config/opencode/opencode.json");
    assert_eq!(opencode["mcp"]["inbox"]["command"], json!([INBOX, "mcp"]));
    let plugin = home.read(".config/opencode/plugins/inbox.ts");
    assert!(
        plugin.contains(&format!("const INBOX = \"{INBOX}\"\n")),
        "{plugin}"
    );
    let cursor = home.json(".cursor/hooks.json");
    assert_eq!(cursor["version"], 1);
    assert_eq!(cursor["hooks"]["stop"][0]["loop_limit"], 5);
    assert_eq!(home.json(".cursor/mcp.json")["mcpServers"]["inbox"], plain);
    let agy = home.json(".gemini/antigravity-cli/mcp_config.json");
    assert_eq!(agy["mcpServers"]["inbox"], plain);
    for skill in [
        ".claude/skills/inbox/SKILL.md",
        ".agents/skills/inbox/SKILL.md",
        ".config/opencode/skills/inbox/SKILL.md",
        ".cursor/skills/inbox/SKILL.md",
    ] {
        assert!(
            home.read(skill)
                .starts_with("---\nname: inbox\ndescription: ")
        );
    }
}

#[test]
fn what_was_written_by_hand_stays_line_by_line() {
    for client in CLIENTS {
        let home = Home::lived_in();
        home.setup(&format!("{client} --yes")).ok();
        for (of, name, content) in BY_HAND {
            let now = home.read(name);
            if *of != client || *of == "claude" {
                assert_eq!(now, *content, "{client} changed {name}");
                continue;
            }
            assert_ne!(now, *content, "{name}");
            assert!(now.contains("inbox"), "{name}");
            // A comma may have come behind a line, and nothing else.
            let bare = |text: &str| {
                let text = text.replace(|c: char| c == ',' || c.is_whitespace(), "");
                text.trim_end_matches(['}', ']']).to_owned()
            };
            let mut rest = bare(&now);
            for line in content.lines().map(bare).filter(|line| !line.is_empty()) {
                let at = rest.find(&line);
                let at = at.unwrap_or_else(|| panic!("{name} has lost {line:?}:\n{now}"));
                rest = rest[at + line.len()..].to_owned();
            }
        }
    }
}

#[test]
fn the_users_line_ends_are_kept() {
    let home = Home::lived_in();
    home.setup("cursor --yes").ok();
    let text = home.read(".cursor/hooks.json");
    assert_eq!(
        text.matches('\n').count(),
        text.matches("\r\n").count(),
        "{text:?}"
    );
}

#[test]
fn a_second_run_has_nothing_to_do() {
    for home in [Home::new(), Home::lived_in()] {
        let line = format!("{} --yes", CLIENTS.join(" "));
        home.setup(&line).ok();
        let (tree, again) = (home.tree(), home.setup(&line).ok());
        assert!(
            changes(&again).iter().all(|it| it == "unchanged"),
            "{again}"
        );
        assert_eq!(home.tree(), tree);
        // And then nobody has to be asked.
        home.setup(&CLIENTS.join(" ")).ok();
    }
}

#[test]
fn a_dry_run_shows_everything_and_changes_nothing() {
    let home = Home::lived_in();
    let before = home.tree();
    let line = format!("{} --dry-run", CLIENTS.join(" "));
    let answer = home.setup(&line).ok();
    assert_eq!(answer["dry_run"], true);
    let diff = answer["clients"][1]["files"][0]["diff"].as_str().unwrap();
    assert!(diff.contains("+ [mcp_servers.inbox]\n"), "{diff}");
    assert!(!diff.lines().any(|line| line.starts_with('-')), "{diff}");
    assert_eq!(home.tree(), before);
    assert!(!home.path(".local").exists());
}

#[test]
fn what_the_user_added_to_our_entries_stays() {
    let home = Home::new();
    home.write(
        ".gemini/settings.json",
        r#"{ "mcpServers": { "inbox": { "command": "old", "env": { "A": "b" } } },
             "hooks": { "SessionStart": [ { "matcher": "startup", "hooks": [
               { "type": "command", "command": "/old/inbox hook gemini session-start", "timeout": 7 },
               { "type": "command", "command": "date" } ] } ] } }"#,
    );
    home.setup("gemini --yes").ok();
    let now = home.json(".gemini/settings.json");
    assert_eq!(now["mcpServers"]["inbox"]["command"], INBOX);
    assert_eq!(now["mcpServers"]["inbox"]["env"]["A"], "b");
    let groups = now["hooks"]["SessionStart"].as_array().unwrap();
    assert_eq!(groups.len(), 1, "{now:#}");
    assert_eq!(groups[0]["matcher"], "startup");
    let ours = &groups[0]["hooks"][0];
    assert_eq!(
        ours["command"],
        format!("{INBOX} hook gemini session-start")
    );
    assert_eq!(ours["timeout"], 7);
    assert_eq!(groups[0]["hooks"][1]["command"], "date");
}

#[test]
fn a_link_stays_a_link_and_a_mode_stays_a_mode() {
    let home = Home::lived_in();
    home.write("dotfiles/codex.toml", &home.read(".codex/config.toml"));
    std::fs::remove_file(home.path(".codex/config.toml")).unwrap();
    symlink("../dotfiles/codex.toml", home.path(".codex/config.toml")).unwrap();
    home.chmod("dotfiles/codex.toml", 0o640);
    let before = home.tree();
    home.setup("codex --yes").ok();
    let link = std::fs::read_link(home.path(".codex/config.toml")).unwrap();
    assert_eq!(link.to_str(), Some("../dotfiles/codex.toml"));
    assert!(
        home.read("dotfiles/codex.toml")
            .contains("[mcp_servers.inbox]")
    );
    let mode = std::fs::metadata(home.path("dotfiles/codex.toml")).unwrap();
    assert_eq!(mode.permissions().mode() & 0o777, 0o640);
    home.setup("codex --remove --yes").ok();
    assert_eq!(home.tree(), before);
}

#[test]
fn without_a_name_it_is_every_client_that_is_found() {
    let home = Home::new();
    let none = home.setup("--yes");
    assert_eq!(none.code, 10, "{none}");
    home.write(".codex/config.toml", "");
    home.write(".config/opencode/opencode.json", "{}");
    let answer = home.setup("--dry-run").ok();
    let names: Vec<_> = answer["clients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|client| client["client"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["codex", "opencode"]);
    // A program counts as well as a folder.
    symlink("/bin/sh", home.inbox.folder().join("bin/claude")).unwrap();
    let answer = home.setup("--dry-run").ok();
    assert_eq!(answer["clients"][0]["client"], "claude");
}

#[test]
fn the_program_is_called_by_its_name_where_that_finds_it() {
    let home = Home::new();
    symlink(INBOX, home.inbox.folder().join("bin/inbox")).unwrap();
    home.setup("cursor --yes").ok();
    assert_eq!(
        home.json(".cursor/mcp.json")["mcpServers"]["inbox"]["command"],
        "inbox"
    );
    // Another program of that name is not ours.
    std::fs::remove_file(home.inbox.folder().join("bin/inbox")).unwrap();
    symlink("/bin/sh", home.inbox.folder().join("bin/inbox")).unwrap();
    home.setup("cursor --yes").ok();
    assert_eq!(
        home.json(".cursor/mcp.json")["mcpServers"]["inbox"]["command"],
        INBOX
    );
}

#[test]
fn a_project_is_set_up_in_its_own_folder() {
    let home = Home::new();
    home.inbox.run(["init", "--json"]).ok();
    let before = home.tree();
    let line = format!("{} --project --yes", CLIENTS.join(" "));
    home.setup(&line).ok();
    assert_eq!(home.tree(), before);
    for name in [
        ".claude/skills/inbox/.claude-plugin/plugin.json",
        ".codex/config.toml",
        ".codex/hooks.json",
        ".gemini/settings.json",
        "opencode.json",
        ".opencode/plugins/inbox.ts",
        ".cursor/hooks.json",
        ".agents/mcp_config.json",
        ".agents/skills/inbox/SKILL.md",
    ] {
        assert!(home.inbox.folder().join(name).is_file(), "{name}");
    }
    home.setup(&format!("{} --project --remove --yes", CLIENTS.join(" ")))
        .ok();
    for name in [
        ".claude",
        ".codex",
        ".gemini",
        ".opencode",
        ".cursor",
        ".agents/skills",
    ] {
        assert!(!home.inbox.folder().join(name).exists(), "{name}");
    }
    assert!(home.inbox.store().is_file());
}

#[test]
fn what_is_remembered_is_nobody_elses_to_read() {
    let home = Home::lived_in();
    home.setup("gemini --yes").ok();
    let folder = home.path(".local/state/inbox/setup");
    let mode =
        |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let mut has_backup = false;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
        has_backup |= std::fs::read_to_string(path).unwrap() == BY_HAND[3].2;
    }
    assert!(has_backup);
}
