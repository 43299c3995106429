//! The commands that are let die, and what has to be there before them.

use inbox_store::FailPoint;
use serde_json::json;

use super::{At, OF_LOG, WRITES};
use crate::Broken;
use crate::ground::Ground;

/// A command that writes. In its lines `{n}` is a number that no other run has, and `{T}`, `{M}`, `{L}`, `{R}`, `{K}` stand for the
/// thread, the message, the proof of a claim, what is remembered and the token that the lines before it gave, the first of each. A first
/// word `then` has a line run as it was years ago, and `later` a little after that.
#[derive(Debug)]
pub struct Case {
    /// The operation, by its name.
    pub operation: &'static str,
    /// What comes before.
    pub before: &'static [&'static str],
    /// The command.
    pub line: &'static str,
    /// How it writes, and so how it is judged.
    pub way: Way,
    /// Whether it takes a key.
    pub is_keyed: bool,
}

/// How an operation writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// In one commit.
    AtOnce,
    /// In several, between which files are written.
    ToFiles,
    /// In one commit that is no answer: it goes on waiting.
    InAWait,
}

impl Case {
    /// Where it dies, and the how manieth time it comes there.
    pub fn deaths(&self, is_served: bool) -> Vec<At> {
        let at = |points: &[FailPoint], time| points.iter().map(|point| (*point, time)).collect();
        let once: Vec<_> = at(&WRITES, 1);
        // There is no log that a client of a server would move.
        let log: Vec<_> = if is_served {
            Vec::new()
        } else {
            at(&OF_LOG, 1)
        };
        let more: Vec<_> = match self.way {
            Way::AtOnce => log,
            // The first time it settles what it may move, and the second time it takes that out.
            Way::ToFiles => [
                log,
                at(&WRITES[..4], 2),
                at(&[FailPoint::ArchiveMidst], 1),
                at(&[FailPoint::ArchiveMidst], 2),
            ]
            .concat(),
            Way::InAWait => Vec::new(),
        };
        [once, more].concat()
    }
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
        way: Way::AtOnce,
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
    // Of one whose lease is over and who is dead.
    case(
        "claim",
        &[
            "then send --from lead --to crew-{n} --subject s{n}",
            "then claim --agent worker-{n} --thread {T}",
        ],
        "claim --agent other-{n} --thread {T}",
    ),
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
    // It has what its holder stopped for.
    case(
        "reply",
        &[
            OPENED,
            CLAIMED,
            "update {L} --thread {T} --status blocked --summary which",
        ],
        "reply --from lead --thread {T} --summary this",
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
    // From under its holder.
    case(
        "cancel",
        &[OPENED, CLAIMED],
        "cancel --agent lead --thread {T} --reason over",
    ),
    case(
        "assign",
        &[OPENED],
        "assign --agent lead --thread {T} --to other-{n}",
    ),
    case(
        "assign",
        &[OPENED, CLAIMED],
        "assign --agent lead --thread {T} --to other-{n}",
    ),
    // The holder's lease is renewed when two thirds of it are over, which they are.
    Case {
        way: Way::InAWait,
        is_keyed: false,
        ..case(
            "wait-reply",
            &[
                "then send --from lead --to worker-{n} --subject s{n}",
                "then claim --agent worker-{n} --thread {T} --lease-seconds 3600",
            ],
            "later wait-reply {L} --thread {T}",
        )
    },
    case("release", &[OPENED, CLAIMED], "release {L} --thread {T}"),
    case("import", &["file mail-{n}.jsonl"], "import mail-{n}.jsonl"),
    // It takes a step for each thread, and what it has moved does not come again.
    Case {
        way: Way::ToFiles,
        is_keyed: false,
        ..case(
            "archive",
            &[
                "then send --from lead --to worker-{n} --subject old",
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
