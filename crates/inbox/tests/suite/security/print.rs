//! Mail that would drive a terminal, printed by the command line: every byte that acts is one of the program's own.

use inbox_core::Kind;
use inbox_ops::{Caller, Inbox, Operation, Send};
use inbox_store::{Location, Store};
use inbox_testkit::sandbox::Sandbox;

use crate::INBOX;
use crate::tui::hostile::{MARK, corpus};

/// There are at least so many texts.
const TEXTS: usize = 200;

/// Commands that show what others wrote.
const SHOWN_BY: [&str; 9] = [
    "read --agent ada --peek --limit 300",
    "list --limit 300",
    "show --thread thr_1",
    "search HOSTILE --limit 100",
    "watch --after-event 0 --timeout-seconds 0",
    "export --thread thr_1",
    "prompt --agent ada",
    "desk --agent ada",
    "glance --agent ada",
];

#[test]
fn whatever_agents_write_no_command_prints_what_a_terminal_obeys() {
    let desk = Sandbox::new(INBOX);
    desk.ok("agent add ada --kind human");
    let inbox = Inbox::new(Store::open(&Location::File(desk.store())).unwrap());
    let mallory = Caller::local(Some("mallory".parse().unwrap()));
    let texts = corpus();
    assert!(texts.len() >= TEXTS, "{}", texts.len());
    let mut thread = None;
    for text in &texts {
        // All in one thread and each in a thread of its own; what is no line is no subject.
        for (thread, subject) in [(thread, None), (None, Some(text.as_str()))] {
            let send = Send {
                to: if thread.is_none() {
                    vec!["ada".parse().unwrap()]
                } else {
                    Vec::new()
                },
                thread,
                subject: subject
                    .map(str::to_owned)
                    .or_else(|| thread.is_none().then(|| "Plain".to_owned())),
                summary: Some(text.clone()),
                body: Some(text.clone()),
                kind: Some(Kind::Event),
                payload_json: Some(serde_json::json!({ (text.as_str()): text })),
                ..Send::default()
            };
            let _ = send.run(&inbox, &mallory);
        }
        thread = Some("thr_1".parse().unwrap());
    }
    let mut seen = 0;
    for line in SHOWN_BY {
        for color in ["never", "1"] {
            let mut command = desk.command(line.split_whitespace());
            command.env("CLICOLOR_FORCE", color);
            let output = command.output().unwrap();
            let told = String::from_utf8(output.stdout).expect("the program prints UTF-8");
            seen += told.matches(MARK).count();
            let bad = told.chars().find(|c| {
                let is_layout = matches!(c, '\n' | '\t');
                let reorders = matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' | '\u{61c}');
                c.is_control() && !is_layout || reorders
            });
            assert_eq!(bad, None, "{line}");
            let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
            assert!(
                !complaint.contains('\u{1b}') && !complaint.contains("panicked"),
                "{line}: {complaint}"
            );
        }
    }
    assert!(seen > 4 * TEXTS, "the texts are shown: {seen}");
}
