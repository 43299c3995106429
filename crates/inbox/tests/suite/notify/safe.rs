//! What a message says stays a text, whatever it says; and a program that is run gets what it needs and no more.

use inbox_testkit::sandbox::{finish, words};
use serde_json::Value;

use super::{Place, once};

/// What somebody could hope that a desktop, a shell or a terminal does something with.
const HOSTILE: [&str; 8] = [
    "--icon=/etc/passwd",
    "<b>bold</b> <img src=\"http://evil.example/\">",
    "\\074b\\076 octal \\n \\x1b",
    "$(touch planted) `touch planted` ; touch planted",
    "\u{1b}[31mred\u{7}\u{9b}2J",
    "left\u{202e}thgir",
    "\" display notification \"x",
    "line\u{2028}break\u{0}",
];

#[test]
fn a_desktop_is_given_text_and_neither_options_nor_markup() {
    let mut place = Place::new("desktop = true");
    place.program(
        "notify-send",
        "for word; do printf '%s\\n' \"$word\"; done >> argv.log; echo == >> argv.log",
    );
    for text in HOSTILE {
        place.urgent(&text.replace('\0', ""));
    }
    once(8, 0, &place.notify("--once"));
    let log = place.content("argv.log");
    let calls: Vec<&str> = log.split("==\n").filter(|call| !call.is_empty()).collect();
    assert_eq!(calls.len(), 8, "{log}");
    for call in &calls {
        let argv: Vec<&str> = call.lines().collect();
        assert_eq!(argv.len(), 5, "{call}");
        assert_eq!(
            argv[..3],
            ["--app-name=inbox", "--urgency=critical", "--"],
            "{call}"
        );
        assert_eq!(argv[3], "urgent from backend");
        assert!(argv[4].starts_with("thr_"), "{call}");
        assert!(!argv[4].contains(['<', '>']), "{call}");
        assert!(!argv[4].chars().any(char::is_control), "{call:?}");
        assert!(!argv[4].contains(['\u{202e}', '\u{2028}']), "{call:?}");
    }
    assert!(calls[2].contains("\\\\074b\\\\076"), "{}", calls[2]);
    assert!(!place.path("planted").exists());
    // Once in all, by two who are on one desktop.
    once(0, 0, &place.notify("--once"));
}

#[test]
fn a_command_gets_the_notice_on_its_input_and_few_variables() {
    let mut place = Place::new(
        "command = [\"keep\", \"--\", \"$(touch planted)\"]\ncommand_env = [\"WANTED\"]",
    );
    place.program(
        "keep",
        "cat >> told.log; env | sort > env.log; printf '%s' \"$*\" > argv.log",
    );
    for text in HOSTILE {
        place.urgent(&text.replace('\0', ""));
    }
    let mut command = place.inbox.command(words("notify --once"));
    command
        .env("WANTED", "yes")
        .env("INBOX_TOKEN", "a-secret")
        .env("UNWANTED", "no");
    once(8, 0, &finish(command.spawn().unwrap()));
    let told = place.content("told.log");
    let told: Vec<Value> = told
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(told.len(), 8);
    for document in &told {
        for key in ["title", "text", "summary", "subject"] {
            let text = document[key].as_str().unwrap();
            assert!(!text.chars().any(char::is_control), "{key}: {text:?}");
            assert!(!text.contains(['\u{202e}', '\u{2028}']), "{key}: {text:?}");
        }
    }
    let env = place.content("env.log");
    assert!(env.contains("WANTED=yes") && env.contains("PATH="), "{env}");
    assert!(
        !env.contains("a-secret") && !env.contains("UNWANTED"),
        "{env}"
    );
    assert_eq!(place.content("argv.log"), "-- $(touch planted)");
    assert!(!place.path("planted").exists());
}

#[test]
fn a_command_that_does_not_end_is_ended_with_all_that_it_started() {
    let mut place = Place::new("command = [\"hang\"]\ncommand_seconds = 1");
    place.program("hang", "sleep 1000 & echo $! > child.pid; wait");
    place.urgent("now");
    let outcome = place.notify("--once");
    once(0, 1, &outcome);
    assert!(outcome.stderr.contains("took longer than 1 s"), "{outcome}");
    let pid = place.content("child.pid");
    // One that nobody has taken away yet has ended all the same.
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let state = stat.rsplit_once(") ").map_or("Z", |(_, rest)| &rest[..1]);
    assert!(matches!(state, "Z" | "X"), "{stat}");
}

#[test]
fn a_command_that_fails_says_why_and_one_that_is_missing_is_named() {
    let mut place = Place::new("command = [\"complain\"]\npeople = [\"anna\", \"nobody\"]");
    let missing = place.inbox.run(words("doctor"));
    let said = "nobody is to be told, and is no person on the roster";
    assert!(missing.stdout.contains(said), "{missing}");
    assert!(
        missing.stdout.contains("there is no program complain"),
        "{missing}"
    );
    place.program("complain", "printf 'no such \\033[31mroom' >&2; exit 3");
    place.urgent("now");
    let outcome = place.notify("--once");
    once(0, 1, &outcome);
    assert!(
        outcome.stderr.contains("exit status: 3: no such ␛[31mroom"),
        "{outcome}"
    );
    let status = place.notify("--status").ok();
    assert_eq!(status["reaches"][0]["state"], "fails");
    // It is tried again, and then it works.
    place.program("complain", "cat > told.log");
    once(1, 0, &place.at(0, "notify --once"));
    assert!(place.content("told.log").contains("\"summary\":\"now\""));
}

#[test]
fn a_setting_that_cannot_be_used_is_refused_and_its_secret_kept() {
    for (config, said) in [
        ("webhook = \"ftp://host/a-secret\"", "begins with neither"),
        ("webhook = \"https://me:a-secret@host/\"", "before its host"),
        ("digest = \"soon\"", "notify.digest"),
        ("patience_seconds = -1", "notify.patience_seconds"),
        ("command_seconds = 1000", "notify.command_seconds"),
        ("command = [\"\"]", "empty word"),
    ] {
        let place = Place {
            inbox: inbox_testkit::sandbox::Sandbox::new(crate::INBOX),
        };
        place.file(".agents/inbox.toml", &format!("[notify]\n{config}\n"));
        let outcome = place.notify("--once");
        outcome.refused(30, "invalid_input");
        assert!(outcome.stdout.contains(said), "{outcome}");
        assert!(!outcome.to_string().contains("a-secret"), "{outcome}");
    }
    let place = Place::new("people = []");
    let outcome = place.notify("--once");
    outcome.refused(30, "invalid_input");
}
