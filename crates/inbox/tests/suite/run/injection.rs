//! Work whose words would be commands where somebody puts them near a shell: they reach the agent as one argument, and nothing else.

use serde_json::json;

use super::Ground;

/// What a shell would carry out.
const TEXTS: [&str; 30] = [
    "$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "&& touch pwned",
    "|| touch pwned",
    "| touch pwned",
    "& touch pwned &",
    "> pwned",
    "< /dev/null > pwned",
    "'; touch pwned; '",
    "\"; touch pwned; \"",
    "\\\"; touch pwned",
    "${IFS}touch${IFS}pwned",
    "$((0)); touch pwned",
    "x=$(touch pwned) true",
    "--; touch pwned",
    "-c touch\u{a0}pwned",
    "--preset evil",
    "--help yourself",
    "{prompt}",
    "{prompt_file}",
    "%s%n%x",
    "~/../pwned",
    "*",
    "INBOX_LEASE=stolen",
    "PATH=.:$PATH",
    "LD_PRELOAD=./evil.so",
    "#!/bin/sh touch pwned",
    "eval touch pwned",
    "\u{ff1b} touch pwned",
];

#[test]
fn no_word_of_work_becomes_a_command_an_argument_or_a_variable() {
    let ground = Ground::new();
    for text in TEXTS {
        let payload = json!({ "env": { text: text }, "command": [text], "argv": text });
        let fields = [("subject", text), ("summary", text), ("body", text)];
        let mut args: Vec<String> = ["send", "--json", "--from", "lead", "--to", "quinn"]
            .map(str::to_owned)
            .to_vec();
        args.extend(fields.map(|(name, text)| format!("--{name}={text}")));
        args.push(format!("--payload-json={payload}"));
        ground.inbox.run(&args).ok();
    }
    let agent = r#"printf '%s\n' "$#" >>count; printf '%s\n' "$1" >>said; env >>variables"#;
    let mut args: Vec<String> = "run --agent quinn --drain --"
        .split(' ')
        .map(str::to_owned)
        .collect();
    args.extend(["sh", "-c", agent, "agent", "{prompt}"].map(str::to_owned));
    let outcome = ground.inbox.run(&args);
    assert_eq!(outcome.code, 0, "{outcome}");
    let read = |name: &str| std::fs::read_to_string(ground.folder().join(name)).unwrap();
    assert_eq!(read("count"), "1\n".repeat(TEXTS.len()));
    let (said, variables) = (read("said"), read("variables"));
    for text in TEXTS {
        assert!(said.contains(text), "{text} did not arrive");
        let is_set = variables.lines().any(|line| {
            line == text || line.split_once('=').is_some_and(|(_, value)| value == text)
        });
        assert!(!is_set, "{text} is in a variable");
    }
    assert!(!ground.folder().join("pwned").exists());
}
