//! What only a person at a terminal does: a lock, what asks for its passphrase, a link that is opened, the console there.

use super::player::{Player, words};
use super::story::PASSPHRASE;
use crate::server::raw::exchange;
use crate::tui::terminal::Terminal;

/// Locks a name, speaks by it, guesses, opens both consoles, and unlocks it.
pub(super) fn type_in(player: &Player<'_>) {
    let terminal = |line: &str, plays: &dyn Fn(&mut Terminal), code: i32| {
        let mut terminal = Terminal::around(&player.command(&words(line), &[]), (150, 24));
        plays(&mut terminal);
        assert_eq!(terminal.ends(), code, "{line}: {}", terminal.text());
        player.note(&words(line), code, &terminal.bytes());
    };
    let twice = |terminal: &mut Terminal| {
        for asks in ["a passphrase for ada:", "the same again:"] {
            terminal.sees(asks);
            terminal.types(&format!("{PASSPHRASE}\n"));
        }
    };
    let once = |terminal: &mut Terminal| {
        terminal.sees("ada's passphrase:");
        terminal.types(&format!("{PASSPHRASE}\n"));
    };
    terminal("lock --as ada", &twice, 0);
    terminal("send --from ada --to ben --subject Hello", &once, 0);
    let wrong = |terminal: &mut Terminal| {
        for tries in 1..=3 {
            terminal.until_seen("ada's passphrase:", tries);
            terminal.types(&format!("{PASSPHRASE}!\n"));
        }
    };
    terminal("token create --agent ada --json", &wrong, 30);
    player.fails("lock --off", &[]);
    // A browser is opened with what every user of the machine can read.
    let follows = |terminal: &mut Terminal| {
        once(terminal);
        terminal.sees("opens once");
        let text = terminal.text();
        let link = text
            .lines()
            .find_map(|line| line.trim().strip_prefix("http://"));
        let (address, code) = link.expect("a link").split_once("/in/").unwrap();
        player.ears.listen("an opened link", code);
        opened(player, address);
        terminal.types("\x03");
    };
    terminal("ui --as ada --listen 127.0.0.1:0", &follows, 0);
    let looks = |terminal: &mut Terminal| {
        once(terminal);
        terminal.sees("live");
        terminal.types("q");
    };
    terminal("tui --agent ada", &looks, 0);
    terminal("lock --as ada --off --json", &once, 0);
}

/// The browser was given a link of its own, which opens for this user.
fn opened(player: &Player<'_>, address: &str) {
    let seen = player.ears.folder().join("seen");
    let given = inbox_torture::child::eventually("a browser is opened", || {
        let entries = std::fs::read_dir(&seen).unwrap().flatten();
        let mut opened = entries.filter(|entry| {
            let name = entry.file_name().to_string_lossy().into_owned();
            name.starts_with("xdg-open") && name.ends_with("arguments")
        });
        let text = std::fs::read_to_string(opened.next()?.path()).ok()?;
        let (_, link) = text.split_once("/in/")?;
        Some(link.split_whitespace().next()?.to_owned())
    });
    let code = given.expect("a browser is opened");
    let asked = format!("GET /in/{code} HTTP/1.1\r\nHost: {address}\r\n\r\n");
    let status = exchange(address, asked.as_bytes()).status;
    assert_eq!(status, 303, "the link of the browser opens");
}
