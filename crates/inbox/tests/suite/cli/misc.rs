//! Help, completions, the skill.

use std::process::Command;

use super::desk::Desk;

pub(crate) const COMMANDS: &[&str] = &[
    "init",
    "send",
    "fetch",
    "claim",
    "renew",
    "update",
    "reply",
    "done",
    "fail",
    "cancel",
    "assign",
    "release",
    "list",
    "show",
    "search",
    "watch",
    "wait-reply",
    "export",
    "import",
    "archive",
    "read",
    "glance",
    "desk",
    "flow",
    "channel",
    "ack",
    "receipts",
    "dead-letters",
    "note",
    "prompt",
    "agent",
    "card",
    "session",
    "wire",
    "run",
    "bridge",
    "verify",
    "proof",
    "devnet",
    "hcs",
    "config",
    "backup",
    "migrate",
    "setup",
    "monitor",
    "doctor",
    "torture",
    "hook",
    "mcp",
    "serve",
    "up",
    "ui",
    "lock",
    "tui",
    "notify",
    "memory",
    "token",
    "completions",
    "man",
    "skill",
    "help",
    "version",
];

/// The second words of those that are groups.
pub(super) const GROUPS: &[(&str, &[&str])] = &[
    ("agent", &["add", "set", "list", "show", "remove"]),
    (
        "session",
        &["start", "beat", "set", "freeze", "resume", "end", "list"],
    ),
    ("dead-letters", &["readdress"]),
    ("channel", &["list", "show"]),
    ("memory", &["add", "search", "list", "forget"]),
    ("card", &["validate", "show", "set"]),
    ("token", &["create", "list", "revoke"]),
    ("wire", &["validate", "schema", "new", "types"]),
];

/// The flags of spec 001 and of its issue, by command.
const FLAGS: &[(&str, &[&str])] = &[
    (
        "send",
        &[
            "from",
            "to",
            "subject",
            "thread",
            "run",
            "task",
            "kind",
            "summary",
            "body",
            "body-file",
            "payload-json",
            "priority",
            "artifact",
            "lease",
            "key",
        ],
    ),
    (
        "fetch",
        &["agent", "status", "limit", "unread", "run", "task"],
    ),
    (
        "claim",
        &["agent", "thread", "lease-seconds", "run", "task", "key"],
    ),
    (
        "renew",
        &["agent", "thread", "lease-seconds", "lease", "key"],
    ),
    (
        "update",
        &[
            "agent",
            "thread",
            "status",
            "summary",
            "body",
            "body-file",
            "payload-json",
            "artifact",
            "lease",
            "key",
        ],
    ),
    (
        "reply",
        &[
            "from",
            "to",
            "thread",
            "kind",
            "summary",
            "body",
            "body-file",
            "payload-json",
            "artifact",
            "lease",
            "key",
        ],
    ),
    (
        "done",
        &[
            "agent",
            "thread",
            "summary",
            "body",
            "body-file",
            "payload-json",
            "artifact",
            "lease",
            "key",
        ],
    ),
    (
        "fail",
        &[
            "agent",
            "thread",
            "summary",
            "body",
            "body-file",
            "payload-json",
            "artifact",
            "lease",
            "key",
        ],
    ),
    ("cancel", &["agent", "thread", "reason", "key"]),
    ("release", &["agent", "thread", "lease", "key"]),
    (
        "list",
        &[
            "agent",
            "status",
            "created-by",
            "assigned-to",
            "limit",
            "run",
            "task",
            "after-event",
        ],
    ),
    ("show", &["thread", "json"]),
    (
        "watch",
        &[
            "agent",
            "status",
            "timeout-seconds",
            "after-event",
            "follow",
            "run",
            "task",
        ],
    ),
    (
        "wait-reply",
        &[
            "thread",
            "after-message",
            "after-event",
            "kinds",
            "timeout-seconds",
        ],
    ),
    ("export", &["thread", "format"]),
    ("backup", &["to"]),
    ("man", &["dir"]),
];

#[test]
fn help_and_version_are_exit_0_everywhere() {
    let desk = Desk::new();
    let help = desk.inbox.run(["--help"]);
    assert_eq!((help.code, help.stderr.as_str()), (0, ""));
    for command in COMMANDS {
        assert!(
            help.stdout.contains(&format!("\n  {command} ")),
            "{command}: {help}"
        );
        for flag in ["--help", "-h"] {
            let outcome = desk.inbox.run([command, flag]);
            assert_eq!(
                (outcome.code, outcome.stderr.as_str()),
                (0, ""),
                "{command}"
            );
            assert!(
                outcome.stdout.contains(&format!("Usage: inbox {command}")),
                "{outcome}"
            );
            for global in ["--db", "--json", "--agent", "--session"] {
                assert!(outcome.stdout.contains(global), "{command} {global}");
            }
        }
    }
    for flag in ["--version", "-V"] {
        let version = desk.inbox.run([flag]);
        assert_eq!(version.code, 0);
        assert!(
            version.stdout.starts_with("inbox 0.") && version.stdout.contains("SQLite 3."),
            "{version}"
        );
    }
}

#[test]
fn every_second_word_has_help_of_its_own() {
    let desk = Desk::new();
    for (group, words) in GROUPS {
        let all = desk.inbox.run([group, "--help"]);
        assert_eq!(all.code, 0, "{all}");
        for word in *words {
            assert!(all.stdout.contains(word), "{group} {word}");
            let help = desk.inbox.run([group, word, "--help"]);
            assert_eq!(help.code, 0, "{help}");
            assert!(
                help.stdout.contains(&format!("inbox {group} {word}")),
                "{help}"
            );
        }
    }
}

#[test]
fn every_flag_of_the_specification_is_there() {
    let desk = Desk::new();
    for (command, flags) in FLAGS {
        let help = desk.inbox.run([command, "--help"]).stdout;
        for flag in *flags {
            assert!(
                help.contains(&format!("--{flag} ")) || help.contains(&format!("--{flag}\n")),
                "{command} --{flag}"
            );
        }
    }
}

#[test]
fn completions_are_whole_and_the_shell_reads_them() {
    let desk = Desk::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let outcome = desk.inbox.run(["completions", shell]);
        assert_eq!(outcome.code, 0, "{outcome}");
        for word in ["wait-reply", "lease-seconds", "payload-json"] {
            assert!(outcome.stdout.contains(word), "{shell}: {word}");
        }
        if shell == "bash" {
            let path = desk.inbox.folder().join("completions.bash");
            std::fs::write(&path, &outcome.stdout).unwrap();
            let read = Command::new("bash").arg("-n").arg(&path).status().unwrap();
            assert!(read.success());
        }
    }
    // What an argument may be is offered, too.
    let offers = |wanted: &str| {
        let outcome = desk.inbox.run(["completions", "zsh"]);
        let zsh = outcome.stdout;
        assert!(zsh.contains(wanted), "{wanted}");
    };
    offers(":shell -- bash, elvish, fish, powershell or zsh:(bash elvish fish powershell zsh)");
    offers("(pending claimed in_progress blocked done failed cancelled)");
    offers("(urgent high normal low fyi)");
    offers("(claude codex gemini opencode cursor agy)");
    offers("(kills points power");
    let answer = desk.ok("completions bash");
    assert!(answer["text"].as_str().unwrap().contains("_inbox"));
}

#[test]
fn the_skill_is_printed_and_names_the_lease() {
    let desk = Desk::new();
    let skill = desk.inbox.run(["skill"]);
    assert_eq!(skill.code, 0);
    assert!(skill.stdout.starts_with("---\nname: inbox\n"), "{skill}");
    assert_eq!(
        desk.ok("skill")["text"].as_str(),
        Some(skill.stdout.as_str())
    );
}

#[test]
fn every_answer_names_its_command() {
    let desk = Desk::new();
    desk.send("--to w");
    let lease = desk.claim("w", "thr_1");
    for line in [
        "list",
        "show --thread thr_1",
        "fetch --agent w --status claimed",
        "watch --after-event 0",
        "wait-reply --thread thr_1 --kinds task",
        "export --thread thr_1",
        "doctor",
        "skill",
        "man",
        "init",
        "update --agent w --thread thr_1 --summary s",
        "reply --from x --thread thr_1 --summary s",
        "renew --agent w --thread thr_1",
        "release --agent w --thread thr_1",
        "claim --agent v --thread thr_1",
        "done --agent v --thread thr_1 --summary s",
    ] {
        let answer = desk.ok(line);
        assert_eq!(answer["command"], line.split(' ').next().unwrap());
        let outcome = desk.run("list");
        assert!(
            outcome
                .stdout
                .starts_with("{\"ok\":true,\"command\":\"list\","),
            "{outcome}"
        );
    }
    assert!(lease.starts_with("lse_"));
}
