//! The desktop: by the program that the system has for it. Words of a message are arguments behind our own, and never options.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use inbox_ops::{Notice, NoticeSort};

use super::{child, document};

/// How long a desktop may take to show something.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);

/// What shows a notification on most desktops, and on a Mac.
const FREE: &str = "notify-send";
const MAC: &str = "osascript";

/// What the Mac's program is told. It is given what to show as arguments, of which it makes nothing but text.
const SCRIPT: &str =
    "on run words\ndisplay notification (item 2 of words) with title (item 1 of words)\nend run\n";

/// The longest text that is shown, in characters.
const LONG: usize = 300;

pub(super) fn send(notice: &Notice, over: &AtomicBool) -> Result<(), String> {
    let (title, text) = (document::title(notice), document::text(notice));
    let words = |words: &[&str]| {
        words
            .iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let (words, input) = if child::on_path(FREE).is_some() {
        let is_calm = matches!(notice.sort, NoticeSort::Digest | NoticeSort::Test);
        let urgency = if is_calm { "normal" } else { "critical" };
        let urgency = format!("--urgency={urgency}");
        let (title, text) = (unescaped(&cut(&title)), markup(&cut(&text)));
        let line = [FREE, "--app-name=inbox", &urgency, "--", &title, &text];
        (words(&line), String::new())
    } else {
        (
            words(&[MAC, "-", &cut(&title), &cut(&text)]),
            SCRIPT.to_owned(),
        )
    };
    child::run(&words, input, &[], PATIENCE, over)
}

pub(super) fn problem() -> Option<(String, String)> {
    let is_there = |program: &str| child::on_path(program).is_some();
    if is_there(MAC) {
        return None;
    }
    if !is_there(FREE) {
        return Some((
            format!("there is no {FREE} on the PATH"),
            "apt install libnotify-bin, or what the system has it in".to_owned(),
        ));
    }
    let has = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    (!has("DBUS_SESSION_BUS_ADDRESS") && !has("XDG_RUNTIME_DIR")).then(|| {
        (
            "this process is on no desktop: DBUS_SESSION_BUS_ADDRESS is not set".to_owned(),
            "inbox notify --test, in a terminal of the desktop, shows whether it works there"
                .to_owned(),
        )
    })
}

fn cut(text: &str) -> String {
    match text.char_indices().nth(LONG) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// A text in which the program finds no escapes: it reads `\074` as `<`.
fn unescaped(text: &str) -> String {
    text.replace('\\', "\\\\")
}

/// A text in which a desktop finds no markup.
fn markup(text: &str) -> String {
    let text = text
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;");
    unescaped(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_neither_markup_nor_escapes() {
        assert_eq!(markup("<b>&\\074"), "&lt;b&gt;&amp;\\\\074");
        assert_eq!(cut(&"é".repeat(301)), format!("{}…", "é".repeat(300)));
    }
}
