//! Mail that would drive the terminal, through a real one: every byte that acts is the console's own.

use inbox_core::text::visible;
use inbox_core::{Address, Kind};
use inbox_ops::{Caller, Inbox, Operation, Send};
use inbox_store::{Location, Store};
use inbox_testkit::sandbox::Sandbox;

use super::terminal::Terminal;
use crate::INBOX;

/// What marks the texts of the corpus on the screen.
pub(crate) const MARK: &str = "HOSTILE";

/// There are at least so many texts.
const TEXTS: usize = 200;

/// Sequences that move, paint, retitle, copy, ask, reorder or hide.
pub(crate) fn corpus() -> Vec<String> {
    let mut all = Vec::new();
    for code in (1..0x20).chain(0x7f..0xa0) {
        let c = char::from_u32(code).unwrap();
        all.push(format!("{c}{MARK}{c}"));
    }
    for last in '@'..='~' {
        all.push(format!("\u{1b}[5;5{last}{MARK}"));
        all.push(format!("{MARK}\u{9b}1{last}"));
    }
    for body in [
        "]0;title\u{7}",
        "]2;title\u{1b}\\",
        "]52;c;aGFja2Vk\u{7}",
        "]8;;http://x.example\u{7}",
        "]10;?\u{7}",
        "]1337;File=:AA\u{7}",
        "]777;notify;a;b\u{7}",
        "P+q544e\u{1b}\\",
        "_Gf=100;AA\u{1b}\\",
        "^private\u{1b}\\",
        "c",
        "7",
        "#8",
        "(0",
        "[?1049l",
        "[?25h",
        "[?1000h",
        "[?2004l",
        "[6n",
        "[c",
        "[21t",
        "[201~",
    ] {
        all.push(format!("\u{1b}{body}{MARK}"));
    }
    for c in "\u{ad}\u{61c}\u{200b}\u{200d}\u{200e}\u{200f}\u{2028}\u{202a}\u{202d}\u{202e}\u{2066}\u{2067}\u{2069}\u{feff}\u{e0041}".chars() {
        all.push(format!("{MARK}{c}gnp.exe"));
    }
    all.push(format!("{MARK}{}", "\u{301}".repeat(300)));
    all.push(format!("{MARK}\r\u{1b}[2K$ sudo"));
    all
}

/// What the console itself writes between texts.
fn is_ours(sequence: &str) -> bool {
    const MODES: [&str; 9] = [
        "[?1049h", "[?1049l", "[?25h", "[?25l", "[?2004h", "[?2004l", "[?2026h", "[?2026l", "[2J",
    ];
    let Some((last, body)) = sequence.strip_prefix('[').and_then(|rest| {
        let last = rest.chars().last()?;
        Some((last, &rest[..rest.len() - last.len_utf8()]))
    }) else {
        return false;
    };
    let is_numbers = body.chars().all(|c| c.is_ascii_digit() || c == ';');
    MODES.contains(&sequence) || matches!(last, 'H' | 'm') && is_numbers
}

#[test]
fn whatever_agents_write_a_terminal_obeys_the_console_alone() {
    let desk = Sandbox::new(INBOX);
    desk.ok("agent add ada --kind human");
    let corpus = corpus();
    assert!(corpus.len() >= TEXTS, "{}", corpus.len());
    let inbox = Inbox::new(Store::open(&Location::File(desk.store())).unwrap());
    let caller = Caller::local(Some("mallory".parse().unwrap()));
    for (index, text) in corpus.iter().enumerate() {
        let to: Address = "ada".parse().unwrap();
        let send = |subject: &str| Send {
            to: vec![to.clone()],
            subject: Some(subject.to_owned()),
            summary: Some(subject.to_owned()),
            body: Some(format!("number {index}\n{text}\nlast")),
            kind: Some(Kind::Event),
            payload_json: Some(serde_json::json!({ "value": text, (text.as_str()): [text] })),
            ..Send::default()
        };
        // A line that is none is refused, and the text stands in the body then.
        if send(text).run(&inbox, &caller).is_err() {
            send(&format!("plain {index}"))
                .run(&inbox, &caller)
                .unwrap();
        }
    }
    let mut terminal = Terminal::open(&desk, "", (130, 30));
    terminal.sees("number 0");
    for index in 1..corpus.len().min(200) {
        terminal.types("j");
        terminal.sees(&format!("number {index}\n"));
    }
    terminal.types("2");
    terminal.sees("mallory");
    terminal.types("3");
    terminal.sees("all threads");
    terminal.types("q");
    terminal.ends_as_it_began();
    let out = String::from_utf8(terminal.bytes()).expect("the console writes UTF-8");
    let mut parts = out.split('\u{1b}');
    let mut told = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part
            .char_indices()
            .find(|(at, c)| *at > 0 && ('@'..='~').contains(c));
        let (end, last) = end.unwrap_or_else(|| panic!("an escape before {part:?}"));
        let (sequence, rest) = part.split_at(end + last.len_utf8());
        assert!(is_ours(sequence), "the terminal was sent ESC{sequence:?}");
        told.push_str(rest);
    }
    assert_eq!(
        visible(&told, false),
        told,
        "something that acts was written"
    );
    assert!(
        told.matches(MARK).count() > corpus.len(),
        "the texts are read"
    );
}
