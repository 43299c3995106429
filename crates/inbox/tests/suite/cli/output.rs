//! What people and pipes see.

use std::process::{Command, Stdio};

use super::desk::{Desk, args, text};
use crate::INBOX;

/// Sequences that drive a terminal, hide text or reorder it.
fn corpus() -> Vec<String> {
    let mut found: Vec<String> = [
        "\u{1b}[31mred",
        "\u{1b}[2J",
        "\u{1b}[H",
        "\u{1b}]0;title\u{7}",
        "\u{1b}]8;;http://x\u{1b}\\link\u{1b}]8;;\u{1b}\\",
        "\u{1b}]52;c;ZWNobyBoaQ==\u{7}",
        "\u{1b}P+q544e\u{1b}\\",
        "\u{1b}[6n",
        "\u{1b}[c",
        "\u{1b}c",
        "\u{1b}[?1049h",
        "\u{1b}[8m",
        "\u{1b}[1A\u{1b}[2K",
        "\u{1b}_G\u{1b}\\",
        "\u{1b}^x\u{1b}\\",
        "\u{1b}#8",
        "\u{1b}(0",
        "\u{1b}[>4;2m",
        "\u{9b}31m",
        "\u{9d}0;t\u{9c}",
        "\u{90}q\u{9c}",
        "\u{85}next",
        "over\rwrite",
        "back\u{8}\u{8}space",
        "\u{7}bell",
        "\u{7f}del",
        "\u{b}vt",
        "\u{c}ff",
        "\u{e}so\u{f}si",
        "\u{5}enq",
        "user\u{202e}gnp.exe",
        "a\u{2066}b\u{2069}",
    ]
    .map(str::to_owned)
    .to_vec();
    let hidden = [
        '\u{ad}',
        '\u{34f}',
        '\u{61c}',
        '\u{115f}',
        '\u{1160}',
        '\u{17b4}',
        '\u{180e}',
        '\u{200b}',
        '\u{200c}',
        '\u{200d}',
        '\u{200e}',
        '\u{200f}',
        '\u{2028}',
        '\u{2029}',
        '\u{202a}',
        '\u{202b}',
        '\u{202c}',
        '\u{202d}',
        '\u{202e}',
        '\u{2060}',
        '\u{2061}',
        '\u{2064}',
        '\u{2066}',
        '\u{2067}',
        '\u{2068}',
        '\u{2069}',
        '\u{206a}',
        '\u{206f}',
        '\u{3164}',
        '\u{feff}',
        '\u{ffa0}',
        '\u{fff9}',
        '\u{fffb}',
        '\u{1d173}',
        '\u{e0001}',
        '\u{e0041}',
        '\u{e007f}',
        '\u{e0100}',
    ];
    found.extend(hidden.map(|c| format!("x{c}y")));
    found.extend(
        (1..0x20)
            .chain(0x80..0xa0)
            .filter_map(char::from_u32)
            .filter(|c| !"\n\t".contains(*c))
            .map(|c| format!("p{c}q")),
    );
    found
}

/// Whether a text holds nothing that acts: the test's own list, not the product's.
fn is_tame(text: &str) -> bool {
    text.chars().all(|c| {
        let code = c as u32;
        let acts = (code < 0x20 && c != '\n' && c != '\t')
            || (0x7f..0xa0).contains(&code)
            || matches!(code, 0xad | 0x34f | 0x61c | 0x115f | 0x1160 | 0x17b4 | 0x180e | 0x200b..=0x200f
                | 0x2028..=0x202e | 0x2060..=0x206f | 0x3164 | 0xfeff | 0xffa0 | 0xfff9..=0xfffb | 0x1d173
                | 0xe0000..=0xe01ef);
        !acts
    })
}

#[test]
fn no_text_of_a_message_drives_the_terminal() {
    let desk = Desk::new();
    let corpus = corpus();
    assert!(corpus.len() >= 60);
    for (number, evil) in corpus.iter().enumerate() {
        let payload = serde_json::to_string(evil).unwrap();
        let sent = desk.inbox.run([
            "send",
            "--from",
            "lead",
            "--to",
            "w",
            "--subject",
            evil,
            "--summary",
            evil,
            "--body",
            evil,
            "--payload-json",
            &payload,
            "--artifact",
            evil,
        ]);
        assert_eq!(sent.code, 0, "{sent}");
        assert!(
            is_tame(&sent.stdout) && is_tame(&sent.stderr),
            "{evil:?}: {sent:?}"
        );
        let thread = format!("thr_{}", inbox_core::id::encode(number as u64 + 1));
        for line in [
            &["show", "--thread", &thread][..],
            &["export", "--thread", &thread],
            &["export", "--thread", &thread, "--format", "json"],
            &["wait-reply", "--thread", &thread, "--kinds", "task"],
        ] {
            let outcome = desk.inbox.run(line);
            assert_eq!(outcome.code, 0, "{outcome}");
            assert!(is_tame(&outcome.stdout), "{line:?}: {:?}", outcome.stdout);
        }
    }
    for line in [
        &["list", "--limit", "1000"][..],
        &["watch", "--after-event", "0"],
        &["fetch", "--agent", "w"],
    ] {
        let outcome = desk.inbox.run(line);
        assert!(is_tame(&outcome.stdout), "{:?}", outcome.stdout);
    }
    let shown = desk.inbox.run(["show", "--thread", "thr_1"]);
    assert!(
        shown.stdout.contains("␛[31mred"),
        "visible, not dropped: {shown}"
    );
}

#[test]
fn no_argument_drives_the_terminal_through_an_error() {
    let desk = Desk::new();
    for evil in corpus().iter().take(40) {
        for line in [
            vec!["show", "--thread", evil],
            vec!["list", "--status", evil],
            vec!["claim", "--agent", evil],
            vec!["send", "--from", "a", "--to", evil, "--subject", "s"],
            vec![
                "send",
                "--from",
                "a",
                "--to",
                "w",
                "--subject",
                "s",
                "--body-file",
                evil,
            ],
            vec![evil],
            vec!["list", "--db", evil],
        ] {
            let outcome = desk.inbox.run(&line);
            assert!(
                outcome.code == 30 || outcome.code == 40,
                "{line:?}: {outcome}"
            );
            assert!(is_tame(&outcome.stderr), "{line:?}: {:?}", outcome.stderr);
        }
    }
}

#[test]
fn json_keeps_the_text_as_it_was() {
    let desk = Desk::new();
    for evil in corpus() {
        let line = args(&[
            "send",
            "--from",
            "lead",
            "--to",
            "w",
            "--subject",
            &evil,
            "--body",
            &evil,
        ]);
        let sent = desk.inbox.run(&line).ok();
        assert_eq!(sent["thread"]["subject"], evil.as_str());
        assert_eq!(sent["message"]["body"], evil.as_str());
    }
}

#[test]
fn a_pipe_gets_lean_text_one_thread_a_line() {
    let desk = Desk::new();
    assert_eq!(desk.inbox.run(["list"]).stdout, "no threads\n");
    desk.send("--to backend-worker");
    let sent = desk.inbox.run([
        "send",
        "--from",
        "lead",
        "--to",
        "w",
        "--subject",
        "two\nlines",
    ]);
    assert_eq!(sent.stdout.lines().next(), Some("thr_2  pending"));
    let listed = desk.inbox.run(["list"]);
    let lines: Vec<_> = listed.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{listed}");
    assert!(lines[0].ends_with("s  two⏎lines"), "{listed}");
    assert!(
        lines[1].starts_with("thr_1  pending  normal  backend-worker  lead  "),
        "{listed}"
    );
    assert!(lines[1].ends_with("s  Work"), "{listed}");
    let claimed = desk.inbox.run(["claim", "--agent", "w"]);
    assert!(claimed.stdout.contains("--lease lse_2_1_"), "{claimed}");
    assert!(claimed.stdout.contains("(in 15m)"), "{claimed}");
    assert_eq!(
        desk.inbox.run(["claim", "--agent", "w"]).stdout,
        "nothing to claim; inbox watch --after-event 3 waits for something new\n"
    );
    assert_eq!(
        desk.inbox.run(["watch", "--timeout-seconds", "0"]).stdout,
        "nothing happened\n"
    );
    assert_eq!(
        desk.inbox
            .run(["wait-reply", "--thread", "thr_1", "--timeout-seconds", "0"])
            .stdout,
        "no reply yet\n"
    );
}

#[test]
fn a_terminal_gets_aligned_columns_under_headings() {
    let desk = Desk::new();
    desk.send("--to a");
    desk.ok("send --from a-long-name --to backend-worker --subject Ünïcödé~日本 --priority urgent");
    let on_terminal = |line: &str| {
        let command = format!("{INBOX} {line}");
        let output = Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .current_dir(desk.inbox.folder())
            .env_remove("CLAUDECODE")
            .env_remove("AI_AGENT")
            .env_remove("INBOX_LEAN")
            .env_remove("INBOX_AGENT")
            .env_remove("INBOX_DB")
            .stdin(Stdio::null())
            .output()
            .expect("script of util-linux runs");
        String::from_utf8(output.stdout).unwrap().replace('\r', "")
    };
    let listed = on_terminal("list");
    let lines: Vec<_> = listed.lines().collect();
    assert_eq!(lines.len(), 3, "{listed}");
    let columns = [
        "THREAD",
        "STATUS",
        "PRIORITY",
        "ASSIGNED TO",
        "FROM",
        "UPDATED",
        "SUBJECT",
    ];
    let starts: Vec<_> = columns
        .iter()
        .map(|heading| lines[0].find(heading).unwrap())
        .collect();
    for line in &lines[1..] {
        for start in &starts[1..] {
            let before: String = line.chars().take(*start).collect();
            assert!(before.ends_with("  "), "{listed}");
            assert_ne!(line.chars().nth(*start), Some(' '), "{listed}");
        }
        assert!(line.contains(" ago  "), "{listed}");
    }
    assert!(on_terminal("doctor").contains("CHECK"));
    assert!(on_terminal("list --json").starts_with("{\"ok\":true"));
    let in_agent = on_terminal("list; true");
    assert!(in_agent.contains("THREAD"));
}

#[test]
fn a_reader_that_has_gone_is_no_error() {
    let desk = Desk::new();
    for _ in 0..3 {
        desk.send(&format!("--to w --body {}", "x".repeat(60_000)));
    }
    for line in [
        &["list"][..],
        &["show", "--thread", "thr_1"],
        &["show", "--thread", "thr_1", "--json"],
        &["skill"],
        &["completions", "zsh"],
    ] {
        let mut child = desk.inbox.spawn(line);
        drop(child.stdout.take());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{line:?}");
        assert!(
            output.stderr.is_empty(),
            "{line:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[test]
fn an_answer_that_cannot_be_printed_is_an_error() {
    let desk = Desk::new();
    let output = into_the_full(&desk, &["skill"]);
    assert_eq!(output.status.code(), Some(50));
}

/// Runs a line whose answer goes to a full disk.
fn into_the_full(desk: &Desk, line: &[&str]) -> std::process::Output {
    let mut command = desk.inbox.command(line);
    let full = std::fs::File::options()
        .write(true)
        .open("/dev/full")
        .unwrap();
    command.stdout(full).output().unwrap()
}

#[test]
fn a_write_whose_answer_cannot_be_printed_says_that_it_was_done() {
    let desk = Desk::new();
    let line = ["send", "--from", "lead", "--to", "x", "--subject", "full"];
    let plain = into_the_full(&desk, &line);
    let said = String::from_utf8_lossy(&plain.stderr).into_owned();
    assert_eq!(plain.status.code(), Some(50), "{said}");
    assert!(said.contains("send was done"), "{said}");
    assert!(
        said.contains("inbox list") && said.contains("--key"),
        "{said}"
    );
    let json = into_the_full(&desk, &[&line[..], &["--json"]].concat());
    let told: serde_json::Value = serde_json::from_slice(&json.stderr).expect("a refusal as JSON");
    assert_eq!(told["error"]["code"], "storage");
    assert!(
        text(&told["error"]["message"]).contains("send was done"),
        "{told}"
    );
    assert_eq!(desk.ok("list")["threads"].as_array().unwrap().len(), 2);
    let read = into_the_full(&desk, &["list"]);
    let said = String::from_utf8_lossy(&read.stderr).into_owned();
    assert!(
        !said.contains("was done") && said.contains("cannot be printed"),
        "{said}"
    );
}
