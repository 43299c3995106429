//! The commands that are let die, and what has to be there before them.

use serde_json::json;

use super::text;
use crate::Broken;
use crate::child::{Leashed, ends, words};
use crate::ground::Ground;

/// A command that writes. In its lines `{n}` is a number that no other run has, and `{T}`, `{M}`, `{L}`, `{R}`, `{K}` stand for the
/// thread, the message, the proof of a claim, what is remembered and the token that the lines before it gave. A first word
/// `then` has a line run as it was years ago.
#[derive(Debug)]
pub struct Case {
    /// The operation, by its name.
    pub operation: &'static str,
    /// What comes before.
    pub before: &'static [&'static str],
    /// The command.
    pub line: &'static str,
    /// Whether all of it is one commit.
    pub is_one_commit: bool,
    /// Whether it takes a key.
    pub is_keyed: bool,
}

const OPENED: &str = "send --from lead --to worker-{n} --subject s{n}";
const CLAIMED: &str = "claim --agent worker-{n} --thread {T}";
const BEGUN: &str = "session start --agent ada --session ses-{n}";

/// A command that is one commit and takes a key.
const fn case(
    operation: &'static str,
    before: &'static [&'static str],
    line: &'static str,
) -> Case {
    Case {
        operation,
        before,
        line,
        is_one_commit: true,
        is_keyed: true,
    }
}

/// Every operation that writes, in some of its ways.
pub const CASES: &[Case] = &[
    case(
        "send",
        &[],
        "send --from lead --to worker-{n} --subject new --artifact a.txt",
    ),
    case(
        "send",
        &[OPENED],
        "send --from lead --thread {T} --summary more --artifact a.txt",
    ),
    case("claim", &[OPENED], "claim --agent worker-{n} --thread {T}"),
    case("claim", &[OPENED], "claim --agent worker-{n}"),
    case(
        "renew",
        &[OPENED, CLAIMED],
        "renew {L} --thread {T} --lease-seconds 1800",
    ),
    case(
        "update",
        &[OPENED, CLAIMED],
        "update {L} --thread {T} --summary going",
    ),
    case(
        "update",
        &[OPENED, CLAIMED],
        "update {L} --thread {T} --status blocked --summary which",
    ),
    case(
        "reply",
        &[OPENED],
        "reply --from lead --thread {T} --summary yes",
    ),
    case(
        "done",
        &[OPENED, CLAIMED],
        "done {L} --thread {T} --summary ready --artifact a.txt",
    ),
    case(
        "fail",
        &[OPENED, CLAIMED],
        "fail {L} --thread {T} --summary no",
    ),
    case(
        "cancel",
        &[OPENED],
        "cancel --agent lead --thread {T} --reason over",
    ),
    case(
        "assign",
        &[OPENED],
        "assign --agent lead --thread {T} --to other-{n}",
    ),
    case("release", &[OPENED, CLAIMED], "release {L} --thread {T}"),
    case("import", &["file mail-{n}.jsonl"], "import mail-{n}.jsonl"),
    // It takes a step for each thread, and what it has moved does not come again.
    Case {
        is_one_commit: false,
        is_keyed: false,
        ..case(
            "archive",
            &[
                "then send --from lead --to worker-{n} --subject old-{n}",
                "then cancel --agent lead --thread {T}",
                // The newest thread stays.
                OPENED,
            ],
            "archive",
        )
    },
    case("read", &[OPENED], "read --agent worker-{n}"),
    case(
        "glance",
        &[
            OPENED,
            "session start --agent worker-{n} --session glance-{n}",
        ],
        "glance --session glance-{n}",
    ),
    case("ack", &[OPENED], "ack --agent worker-{n} --message {M}"),
    case(
        "dead-letters readdress",
        &["then send --from lead --to worker-{n} --subject lost --ttl-hours 1"],
        "dead-letters readdress {M} --agent lead --to other-{n}",
    ),
    case(
        "note",
        &[],
        "note --agent lead --ref task:T-{n} --note words --notify worker-{n}",
    ),
    case("agent add", &[], "agent add new-{n}"),
    case(
        "agent set",
        &["agent add new-{n}"],
        "agent set new-{n} --persona calm",
    ),
    case(
        "agent remove",
        &["agent add new-{n}"],
        "agent remove new-{n}",
    ),
    case("card set", &[], "card set backend card.json"),
    case(
        "memory add",
        &[],
        "memory add --agent ada --text remembered-{n}",
    ),
    case(
        "memory forget",
        &["memory add --agent ada --text remembered-{n}"],
        "memory forget --agent ada {R}",
    ),
    case("session start", &[], BEGUN),
    case("session beat", &[BEGUN], "session beat --session ses-{n}"),
    case(
        "session set",
        &[BEGUN],
        "session set --session ses-{n} --role dev",
    ),
    case("session freeze", &[BEGUN], "session freeze ses-{n}"),
    case(
        "session resume",
        &[BEGUN, "session freeze ses-{n}"],
        "session resume ses-{n}",
    ),
    case("session end", &[BEGUN], "session end ses-{n}"),
    // A key would have the secret kept with the answer.
    Case {
        is_keyed: false,
        ..case("token create", &[], "token create --agent ada")
    },
    case(
        "token revoke",
        &["token create --agent ada"],
        "token revoke {K}",
    ),
];

/// What all cases stand on: files, and a roster on which a card's references exist.
pub(super) fn prepare(ground: &Ground<'_>) -> Result<(), Broken> {
    std::fs::write(ground.folder().join("a.txt"), "attached")?;
    std::fs::create_dir_all(ground.folder().join(".agents"))?;
    let card = json!({
        "card_version": "1.0",
        "identity": {
            "slug": "backend", "name": "Backend", "department": "dev", "reports_to": "lead", "model": "small",
        },
        "scope": "I implement tasks of the queue.",
        "capabilities": ["Code"],
        "constraints": ["I never push to main"],
        "escalation_rules": [
            { "trigger": "The brief is unclear", "route_to": "roles.ba", "via": "task.blocked" },
        ],
        "output_types": ["code_commit"],
        "working_style": "I read. I build.",
        "voice": { "description": "Terse.", "example": "Done." },
        "values": ["Exactness"],
    });
    std::fs::write(ground.folder().join("card.json"), card.to_string())?;
    for line in [
        "agent add lead",
        "agent add backend",
        "agent add ada",
        // What writes no entry is remembered beside the newest one.
        "send --from lead --to ada --subject first",
        "session start --agent analyst --session ses-ba --role ba",
    ] {
        ground.run(line)?.ok()?;
    }
    Ok(())
}

/// Runs what comes before a case, and gives its line, with a key where it takes one.
pub(super) fn fill(ground: &Ground<'_>, case: &Case, n: u32) -> Result<String, Broken> {
    let mut known: Vec<(&str, String)> = vec![("{n}", n.to_string())];
    let filled = |line: &str, known: &[(&str, String)]| {
        let fill = |line: String, (name, value): &(&str, String)| line.replace(name, value);
        known.iter().fold(line.to_owned(), fill)
    };
    for line in case.before {
        let line = filled(line, &known);
        if let Some(file) = line.strip_prefix("file ") {
            std::fs::write(ground.folder().join(file), mailbox(n))?;
            continue;
        }
        let (line, is_old) = match line.strip_prefix("then ") {
            Some(line) => (line.to_owned(), true),
            None => (line, false),
        };
        let mut command = ground.command(words(&line));
        if is_old {
            command.env("INBOX_NOW", "2020-01-01T00:00:00Z");
        }
        let answer = ends(Leashed(command.spawn()?))?.ok()?;
        for (name, pointer) in [
            ("{T}", "/thread/thread_id"),
            ("{M}", "/message/message_id"),
            ("{R}", "/memory/memory_id"),
            ("{K}", "/token/token_id"),
        ] {
            known.extend(text(&answer, pointer).map(|value| (name, value)));
        }
        let token = text(&answer, "/lease/lease_token");
        known.extend(token.map(|token| ("{L}", format!("--lease {token}"))));
    }
    let line = filled(case.line, &known);
    Ok(if case.is_keyed {
        format!("{line} --key key-{n}")
    } else {
        line
    })
}

/// A mailbox of another program, with one message.
fn mailbox(n: u32) -> String {
    let line = json!({
        "id": format!("0198f000-0000-7000-8000-{n:012}"),
        "sender": "far", "recipient": "near", "timestamp": "2026-01-01T00:00:00Z",
        "content": format!("words {n}"),
    });
    format!("{line}\n")
}
