//! The real clients, from npm, read what `setup` wrote. Without npm these tests fail: a set-up that no client has
//! read is not tested.

use std::path::PathBuf;
use std::process::Command;

use inbox_testkit::sandbox::TempDir;
use serde_json::Value;

use super::home::Home;
use crate::packages;

/// A client's package and version, and the program in it.
pub(crate) struct Package {
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    pub(crate) program: &'static str,
}

pub(crate) const CLAUDE: Package = Package {
    name: "@anthropic-ai/claude-code",
    version: "2.1.325",
    program: "claude",
};

pub(crate) const CODEX: Package = Package {
    name: "@openai/codex",
    version: "0.166.0",
    program: "codex",
};

pub(crate) const GEMINI: Package = Package {
    name: "@google/gemini-cli",
    version: "0.61.0",
    program: "gemini",
};

/// The program of a package, installed once below the build's own folder.
pub(crate) fn installed(package: &Package) -> PathBuf {
    let short = package.name.rsplit('/').next().unwrap();
    let place =
        packages::folder("clients").join(format!("{short}_{}", package.version.replace('.', "_")));
    let folder = packages::npm(place, &[(package.name, package.version)]);
    folder.join("node_modules/.bin").join(package.program)
}

/// Runs a client in the home's project, as its user would.
fn run(home: &Home, package: &Package, args: &[&str]) -> String {
    let output = Command::new(installed(package))
        .args(args)
        .current_dir(home.inbox.folder())
        .env("HOME", home.path(""))
        .env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1")
        .env_remove("CLAUDE_CONFIG_DIR")
        .env_remove("CODEX_HOME")
        .env_remove("XDG_CONFIG_HOME")
        .stdin(std::process::Stdio::null())
        .output()
        .expect("the client runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned()
        + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{} {args:?}:\n{text}",
        package.program
    );
    text
}

#[test]
fn claude_code_finds_nothing_to_complain_of_in_the_plugin() {
    let home = Home::new();
    home.setup("claude --yes").ok();
    let folder = home.path(".claude/skills/inbox");
    let text = run(
        &home,
        &CLAUDE,
        &["plugin", "validate", "--strict", folder.to_str().unwrap()],
    );
    assert!(text.contains("Validation passed"), "{text}");
    let listed = run(&home, &CLAUDE, &["plugin", "list"]);
    assert!(
        listed.contains("inbox@skills-dir") && listed.contains("loaded"),
        "{listed}"
    );
    let details = run(&home, &CLAUDE, &["plugin", "details", "inbox@skills-dir"]);
    assert!(details.contains("Hooks (6)"), "{details}");
    assert!(details.contains("MCP servers (1)  inbox"), "{details}");
}

#[test]
fn the_plugin_costs_a_session_at_most_sixty_tokens() {
    let home = Home::new();
    home.setup("claude --yes").ok();
    // Claude Code counts the skills in a folder of a plugin, and not the one at its root.
    let folder = home.path(".claude/skills/inbox");
    std::fs::create_dir_all(folder.join("skills/inbox")).unwrap();
    std::fs::rename(
        folder.join("SKILL.md"),
        folder.join("skills/inbox/SKILL.md"),
    )
    .unwrap();
    let details = run(&home, &CLAUDE, &["plugin", "details", "inbox@skills-dir"]);
    let line = details
        .lines()
        .find(|line| line.contains("Always-on:"))
        .unwrap();
    let tokens: String = line.chars().filter(char::is_ascii_digit).collect();
    let tokens: u32 = tokens.parse().unwrap();
    assert!((10..=60).contains(&tokens), "{details}");
}

#[test]
fn codex_lists_the_server_and_says_that_its_hooks_wait_for_approval() {
    let home = Home::lived_in();
    // What the fixture has is not all that a real Codex takes.
    home.write(
        ".codex/config.toml",
        "# mine\n[mcp_servers.files]\ncommand = \"files\"\n",
    );
    home.setup("codex --yes").ok();
    let listed = run(&home, &CODEX, &["mcp", "list"]);
    for name in ["files", "inbox"] {
        let line = listed.lines().find(|line| line.starts_with(name));
        assert!(
            line.is_some_and(|line| line.contains("enabled")),
            "{listed}"
        );
    }
    home.inbox.run(["init", "--json"]).ok();
    let check = |home: &Home| {
        let codex = installed(&CODEX);
        let path = format!(
            "{}:{}",
            codex.parent().unwrap().display(),
            std::env::var("PATH").unwrap()
        );
        let mut command = home.inbox.command(["doctor", "--json"]);
        let output = command.env("PATH", path).output().unwrap();
        let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
        let checks = answer["checks"].as_array().unwrap().clone();
        checks
            .into_iter()
            .find(|check| check["name"] == "codex")
            .unwrap()
    };
    let found = check(&home);
    assert_eq!(found["status"], "warning", "{found}");
    assert_eq!(
        found["message"],
        "wired for you, but 6 of its hooks are not approved"
    );
    assert!(
        found["hint"].as_str().unwrap().contains("/hooks"),
        "{found}"
    );
}

#[test]
fn gemini_lists_the_server() {
    let home = Home::lived_in();
    home.setup("gemini --yes").ok();
    let listed = run(&home, &GEMINI, &["mcp", "list"]);
    assert!(
        listed.contains("inbox: ") && listed.contains("files: "),
        "{listed}"
    );
}

#[test]
fn doctor_says_which_clients_are_wired() {
    let home = Home::lived_in();
    home.inbox.run(["init", "--json"]).ok();
    let check = |name: &str| {
        let answer = home.inbox.run(["doctor", "--json"]).ok();
        let checks = answer["checks"].as_array().unwrap().clone();
        let found = checks.into_iter().find(|check| check["name"] == name);
        found.map(|check| (check["status"].clone(), check["message"].clone()))
    };
    let warning = |message: &str| Some((Value::from("warning"), Value::from(message)));
    assert_eq!(check("cursor"), warning("not wired"));
    home.setup("cursor --yes").ok();
    assert_eq!(check("cursor"), Some(("ok".into(), "wired for you".into())));
    let text = home
        .read(".cursor/hooks.json")
        .replace("hook cursor stop", "hook cursor pause");
    home.write(".cursor/hooks.json", &text);
    assert_eq!(
        check("cursor"),
        warning("wired for you, but not as this inbox would")
    );
    home.write(".cursor/hooks.json", "{");
    let (status, message) = check("cursor").unwrap();
    assert_eq!(status, "warning");
    assert!(
        message.as_str().unwrap().contains("~/.cursor/hooks.json"),
        "{message}"
    );
    let nobody = Home::new();
    nobody.inbox.run(["init", "--json"]).ok();
    let answer = nobody.inbox.run(["doctor", "--json"]).ok();
    assert!(!answer.to_string().contains("not wired"), "{answer}");
}

#[test]
fn opencodes_plugin_is_a_program_that_node_can_read() {
    let home = Home::new();
    home.setup("opencode --yes").ok();
    let folder = TempDir::new();
    let copy = folder.path().join("inbox.mjs");
    std::fs::copy(home.path(".config/opencode/plugins/inbox.ts"), &copy).unwrap();
    let output = Command::new("node").arg("--check").arg(&copy).output();
    let output = output.expect("node is needed to check the plugin");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
}
