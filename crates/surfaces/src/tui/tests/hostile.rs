//! Mail that would drive the terminal: whatever agents write, the terminal obeys the console alone.

use ratatui_core::backend::Backend;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::Rect;
use serde_json::json;

use super::*;
use crate::tui::screen::Screen;

/// What marks the texts of the corpus on the screen.
const MARK: &str = "HOSTILE";

/// Sequences that move, paint, retitle, copy, ask, reorder or hide.
fn corpus() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    // Each control character, alone and with something after it.
    for code in (0..0x20).chain(0x7f..0xa0) {
        let c = char::from_u32(code).unwrap();
        all.push(format!("{c}{MARK}"));
        all.push(format!("{MARK}{c}[2J"));
    }
    // Each final of a control sequence, in both forms.
    for last in '@'..='~' {
        all.push(format!("\u{1b}[5;5{last}{MARK}"));
        all.push(format!("\u{9b}1{last}{MARK}"));
    }
    for body in [
        "]0;title\u{7}",
        "]2;title\u{1b}\\",
        "]52;c;aGFja2Vk\u{7}",
        "]8;;http://x.example\u{7}link\u{1b}]8;;\u{7}",
        "]10;?\u{7}",
        "]11;?\u{7}",
        "]4;1;?\u{7}",
        "]1337;File=name=eA==:AAAA\u{7}",
        "]777;notify;a;b\u{7}",
        "]9;note\u{7}",
        "P+q544e\u{1b}\\",
        "Pq#0;2;0;0;0\u{1b}\\",
        "_Gf=100;AAAA\u{1b}\\",
        "^private\u{1b}\\",
        "Xstring\u{1b}\\",
        "c",
        "7",
        "8",
        "=",
        ">",
        "N",
        "O",
        "Z",
        "#8",
        "(0",
        ")B",
        "%G",
        " F",
    ] {
        all.push(format!("\u{1b}{body}{MARK}"));
    }
    for code in [
        "?1049l", "?25h", "?1000h", "?2004l", "?1h", "6n", "c", ">c", "=c", "5n", "18t", "21t",
        "200~", "201~",
    ] {
        all.push(format!("\u{1b}[{code}{MARK}"));
    }
    for c in "\u{ad}\u{34f}\u{61c}\u{180e}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2060}\u{2066}\u{2067}\u{2068}\u{2069}\u{feff}\u{fff9}\u{e0041}".chars() {
        all.push(format!("{MARK}{c}gnp.exe"));
    }
    all.push(format!("{MARK}{}", "\u{301}".repeat(500)));
    all.push(format!("{MARK}\r\u{1b}[31mfake prompt$ "));
    all.push(format!("{MARK}\u{8}\u{8}\u{8}\u{8}"));
    all
}

/// A console in which one text stands wherever a text can.
fn filled(text: &str) -> App {
    let mut desk = desk();
    for name in ["asks", "elsewhere"] {
        let ask = &mut desk[name][0];
        ask["thread"]["subject"] = text.into();
        ask["message"]["summary"] = text.into();
        ask["message"]["body"] = text.into();
    }
    for message in desk["mail"].as_array_mut().unwrap() {
        message["summary"] = text.into();
        message["message_type"] = text.into();
    }
    let mut said = message(1, 1, "backend", "question", text);
    said["body"] = format!("first\n{text}\n{text}").into();
    said["message_type"] = text.into();
    said["payload_json"] = json!({ "name": text, text: [text, { text: text }] });
    let mut shown = shown(1, &[said]);
    shown.thread.subject = text.to_owned();
    shown.thread.run_id = text.to_owned();
    shown.thread.ref_id = Some(text.to_owned());
    let artifact = json!({
        "artifact_id": "art_1", "message_id": "msg_1", "path": text, "kind": "reference",
        "metadata_json": {"size": 1, "sha256": null, "media_type": null}, "created_at": at(1),
    });
    shown.artifacts = vec![serde_json::from_value(artifact).unwrap()];
    let mut roster = roster();
    for agent in roster["agents"].as_array_mut().unwrap() {
        agent["name"] = text.into();
        agent["roles"] = json!([text]);
        agent["tags"] = json!([text]);
    }
    for work in roster["work"].as_array_mut().unwrap() {
        work["clients"] = json!([text]);
    }
    roster["work"][0]["holds"][0]["thread"]["subject"] = text.into();
    let mut one = thread(1, text, "blocked");
    one["assigned_to"] = text.into();
    let found = json!({ "threads": [one], "truncated": false, "next_event_id": 9 });
    let mut app = app(130, 40);
    let mut found_all = looked(desk);
    found_all.thread = Some(("thr_1".parse().unwrap(), Ok(shown)));
    app.looked(Ok(found_all));
    app.agents = Some(serde_json::from_value::<Agents>(roster).unwrap());
    app.found = Some(Found::Threads(
        serde_json::from_value::<Threads>(found).unwrap(),
    ));
    app
}

/// The screens on which the text stands.
fn screens(text: &str) -> Vec<Buffer> {
    let mut all = Vec::new();
    for (keys, width) in [
        ("", 120),
        ("\r", 60),
        ("a", 60),
        ("2", 120),
        ("3", 120),
        ("c", 60),
        ("x", 60),
    ] {
        let mut app = filled(text);
        app.size = (width, 24);
        typed(&mut app, keys);
        app.refused(&Refusal::input(text).hint(text));
        let mut buffer = Buffer::empty(Rect::new(0, 0, width, 24));
        app.draw(&mut buffer);
        all.push(buffer);
    }
    all
}

/// What the console itself writes between the texts of cells.
fn is_ours(sequence: &str) -> bool {
    let Some(body) = sequence.strip_prefix("\u{1b}[") else {
        return false;
    };
    let numbers = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == ';');
    body.strip_suffix('H').is_some_and(numbers) || body.strip_suffix('m').is_some_and(numbers)
}

#[test]
fn no_text_of_an_agent_reaches_the_terminal_as_anything_but_text() {
    let corpus = corpus();
    assert!(corpus.len() >= 300, "{}", corpus.len());
    for text in &corpus {
        let mut was_seen = false;
        for buffer in screens(text) {
            let cells: String = buffer.content().iter().map(|cell| cell.symbol()).collect();
            let shown = inbox_core::text::visible(&cells, false);
            assert_eq!(shown, cells, "{text:?} left something in a cell");
            let mut screen = Screen::new(true);
            let cells = buffer.content().iter().enumerate().map(|(index, cell)| {
                let (x, y) = buffer.pos_of(index);
                (x, y, cell)
            });
            screen.draw(cells).unwrap();
            let out = screen.taken();
            let mut parts = out.split('\u{1b}');
            parts.next();
            for part in parts {
                let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
                let sequence = format!("\u{1b}{}", &part[..=end]);
                assert!(is_ours(&sequence), "{text:?} brought {sequence:?}");
            }
            let rest: String = out.chars().filter(|c| *c != '\u{1b}').collect();
            assert_eq!(inbox_core::text::visible(&rest, false), rest, "{text:?}");
            // Letters between which nothing is: what is told is still read.
            was_seen |= super::text(&buffer).contains(MARK);
        }
        assert!(was_seen, "{text:?} is not seen at all");
    }
}
