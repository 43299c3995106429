//! The lifecycle, found by asking `decide` and not by describing it.

use inbox_core::lifecycle::{
    Asker, Command, Facts, NameStanding, SessionStanding, TokenStanding, decide,
};
use inbox_core::record::Millis;
use inbox_core::{Status, ThreadId};

use super::{page, table};

const NOW: Millis = Millis(1_000_000);

const ABOUT: &str = "\
The status of a thread, and every step that changes it. Messages can be added in every status and
change none; `renew` moves the end of the lease and nothing else.";

const COMMANDS: &[(&str, Command)] = &[
    ("claim", Command::Claim { lease_ms: 1000 }),
    ("renew", Command::Renew { lease_ms: 1000 }),
    ("update", Command::Start),
    ("update blocked", Command::Block),
    ("done", Command::Finish),
    ("fail", Command::Fail),
    ("release", Command::Release),
    ("cancel", Command::Cancel),
    ("assign", Command::Assign),
    ("assign without --to", Command::TakeBack),
];

/// Who asks: what a token proves, or nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Who {
    Holder,
    Creator,
}

fn facts(status: Status, is_live: bool, who: Who) -> Facts {
    let is_holder = who == Who::Holder;
    Facts {
        thread: ThreadId::new(1),
        status,
        is_work: true,
        is_commentary: false,
        holder: "backend".parse().ok(),
        lease_until: status
            .is_held()
            .then_some(Millis(if is_live { NOW.0 + 1 } else { NOW.0 })),
        asker: Asker {
            token: if is_holder && status.is_held() {
                TokenStanding::Current
            } else {
                TokenStanding::None
            },
            session: SessionStanding::None,
            name: if is_holder {
                NameStanding::HolderOnce
            } else {
                NameStanding::Stranger
            },
            is_creator: !is_holder,
            is_reached: is_holder,
            may_override: false,
        },
    }
}

pub(super) fn document() -> String {
    let mut body = format!("{}\n## Every step\n\n", diagram());
    body.push_str(
        "Rows are a thread's status and whether its lease has ended; cells are the status after the\n\
         step, or the code that refuses it. Steps are the holder's, proven by its token; `claim` is\n\
         asked by an agent that the thread is addressed to, `cancel` and `assign` by the thread's creator.\n\n",
    );
    let mut headings = vec!["status"];
    headings.extend(COMMANDS.iter().map(|(name, _)| *name));
    let mut rows = Vec::new();
    for &status in Status::ALL {
        let lives: &[bool] = if status.is_held() {
            &[true, false]
        } else {
            &[true]
        };
        for &is_live in lives {
            let mut row = vec![match (status.is_held(), is_live) {
                (true, false) => format!("`{status}`, lease ended"),
                _ => format!("`{status}`"),
            }];
            for &(_, command) in COMMANDS {
                row.push(cell(status, is_live, command));
            }
            rows.push(row);
        }
    }
    body.push_str(&table(&headings, rows));
    page("State machine", ABOUT, &body)
}

/// Who takes a step.
fn asker(command: Command) -> Who {
    if matches!(
        command,
        Command::Cancel | Command::Assign | Command::TakeBack
    ) {
        Who::Creator
    } else {
        Who::Holder
    }
}

fn cell(status: Status, is_live: bool, command: Command) -> String {
    match decide(&facts(status, is_live, asker(command)), command, NOW) {
        Ok(decision) => format!("`{}`", decision.status),
        Err(refusal) => format!("*{}*", refusal.code),
    }
}

fn diagram() -> String {
    let mut out = "```mermaid\nstateDiagram-v2\n    [*] --> pending: send\n".to_owned();
    for &status in Status::ALL {
        // Steps that lead to the same place share an arrow.
        let mut arrows: Vec<(Status, Vec<String>)> = Vec::new();
        for &(name, command) in COMMANDS {
            for is_live in [true, false] {
                if !is_live && !status.is_held() {
                    continue;
                }
                let found = decide(&facts(status, is_live, asker(command)), command, NOW);
                let Ok(decision) = found else { continue };
                let is_idle =
                    decision.status == status && command != Command::Claim { lease_ms: 1000 };
                if is_idle || (!is_live && asker(command) == Who::Creator) {
                    continue;
                }
                let label = if is_live {
                    name.to_owned()
                } else {
                    format!("{name} after the lease ended")
                };
                match arrows.iter_mut().find(|(to, _)| *to == decision.status) {
                    Some((_, labels)) => labels.push(label),
                    None => arrows.push((decision.status, vec![label])),
                }
            }
        }
        for (to, labels) in arrows {
            out.push_str(&format!("    {status} --> {to}: {}\n", labels.join(", ")));
        }
        if status.is_final() {
            out.push_str(&format!("    {status} --> [*]\n"));
        }
    }
    out.push_str("```\n");
    out
}
