//! `--remove`: every byte back, or only what is ours.

use super::home::{CLIENTS, Home, changes};

#[test]
fn every_byte_comes_back() {
    for home in [Home::new(), Home::lived_in()] {
        for client in CLIENTS {
            let before = home.tree();
            home.setup(&format!("{client} --yes")).ok();
            assert_ne!(home.tree(), before);
            home.setup(&format!("{client} --remove --yes")).ok();
            assert_eq!(home.tree(), before, "{client}");
        }
        let before = home.tree();
        home.setup(&format!("{} --yes", CLIENTS.join(" "))).ok();
        home.setup(&format!("{} --remove --yes", CLIENTS.join(" ")))
            .ok();
        assert_eq!(home.tree(), before);
        assert!(!home.path(".local/state/inbox").exists());
    }
}

#[test]
fn what_the_user_wrote_since_is_kept() {
    for (client, name, by_hand) in [
        (
            "codex",
            ".codex/config.toml",
            "\n[profiles.fast]  # mine\nmodel = \"small\"\n",
        ),
        ("gemini", ".gemini/settings.json", "\n// mine\n"),
        ("opencode", ".config/opencode/opencode.jsonc", "\n// mine\n"),
    ] {
        let home = Home::lived_in();
        let before = home.read(name);
        home.setup(&format!("{client} --yes")).ok();
        let wired = home.read(name);
        home.write(name, &format!("{wired}{by_hand}"));
        let answer = home.setup(&format!("{client} --remove --yes")).ok();
        assert_eq!(changes(&answer)[0], "edit", "{answer}");
        let now = home.read(name);
        assert!(now.ends_with(by_hand), "{now}");
        assert!(!now.contains("inbox"), "{now}");
        let bare = |text: &str| text.replace(|c: char| c == ',' || c.is_whitespace(), "");
        assert_eq!(bare(&now), bare(&format!("{before}{by_hand}")), "{name}");
    }
}

#[test]
fn a_hook_that_others_use_is_kept_without_ours() {
    let home = Home::new();
    home.setup("cursor codex --yes").ok();
    for (name, theirs) in [
        (
            ".cursor/hooks.json",
            "[\n      {\n        \"command\": \"./stop.sh\"\n      },",
        ),
        (
            ".codex/hooks.json",
            "[\n      { \"hooks\": [{ \"type\": \"command\", \"command\": \"./stop.sh\" }] },",
        ),
    ] {
        let text = home.read(name);
        let key = if name.contains("cursor") {
            "\"stop\": ["
        } else {
            "\"Stop\": ["
        };
        let edited = text.replacen(key, &format!("{} {theirs}", key.trim_end_matches(" [")), 1);
        assert_ne!(text, edited);
        home.write(name, &edited);
    }
    home.setup("cursor codex --remove --yes").ok();
    let cursor = home.json(".cursor/hooks.json");
    assert_eq!(cursor["hooks"]["stop"][0]["command"], "./stop.sh");
    assert_eq!(cursor["hooks"].as_object().unwrap().len(), 1, "{cursor:#}");
    let codex = home.json(".codex/hooks.json");
    assert_eq!(
        codex["hooks"]["Stop"][0]["hooks"][0]["command"],
        "./stop.sh"
    );
    assert_eq!(codex["hooks"].as_object().unwrap().len(), 1, "{codex:#}");
}

#[test]
fn an_edit_before_a_second_setup_is_not_undone_by_its_removal() {
    let home = Home::lived_in();
    home.setup("codex --yes").ok();
    let edited = home
        .read(".codex/config.toml")
        .replace("some-model", "another-model");
    let edited = edited.replace("args = [\"mcp\"]", "args = [\"mcp\", \"--old\"]");
    home.write(".codex/config.toml", &edited);
    home.setup("codex --yes").ok();
    home.setup("codex --remove --yes").ok();
    let now = home.read(".codex/config.toml");
    assert!(now.contains("another-model"), "{now}");
    assert!(!now.contains("inbox"), "{now}");
}

#[test]
fn a_shared_skill_leaves_with_the_last_client() {
    let home = Home::new();
    home.setup("codex gemini --yes").ok();
    home.setup("codex --remove --yes").ok();
    assert!(home.path(".agents/skills/inbox/SKILL.md").is_file());
    home.setup("gemini --remove --yes").ok();
    assert!(!home.path(".agents").exists());
}

#[test]
fn a_file_of_ours_that_was_changed_is_kept_and_said() {
    let home = Home::new();
    home.setup("claude --yes").ok();
    home.write(".claude/skills/inbox/SKILL.md", "My own words.\n");
    let answer = home.setup("claude --remove --yes").ok();
    assert!(changes(&answer).contains(&"keep".to_owned()), "{answer}");
    assert_eq!(
        home.read(".claude/skills/inbox/SKILL.md"),
        "My own words.\n"
    );
    assert!(!home.path(".claude/skills/inbox/hooks").exists());
}

#[test]
fn without_its_memory_it_takes_out_what_it_recognises() {
    let home = Home::lived_in();
    home.setup(&format!("{} --yes", CLIENTS.join(" "))).ok();
    std::fs::remove_dir_all(home.path(".local")).unwrap();
    home.setup(&format!("{} --remove --yes", CLIENTS.join(" ")))
        .ok();
    for (path, (text, _)) in home.tree() {
        assert!(!text.contains("inbox"), "{}:\n{text}", path.display());
    }
}

#[test]
fn a_folder_behind_a_link_is_left_as_it_was() {
    let home = Home::new();
    std::fs::create_dir_all(home.path("dotfiles/codex")).unwrap();
    std::os::unix::fs::symlink("dotfiles/codex", home.path(".codex")).unwrap();
    let before = home.tree();
    home.setup("codex --yes").ok();
    assert!(home.path("dotfiles/codex/hooks.json").is_file());
    home.setup("codex --remove --yes").ok();
    assert_eq!(home.tree(), before);
}

#[test]
fn nothing_to_remove_is_no_error() {
    let home = Home::lived_in();
    let before = home.tree();
    let answer = home
        .setup(&format!("{} --remove --yes", CLIENTS.join(" ")))
        .ok();
    assert!(
        changes(&answer).iter().all(|it| it == "unchanged"),
        "{answer}"
    );
    assert_eq!(home.tree(), before);
}
