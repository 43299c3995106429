//! A person's passphrase, typed at a real terminal.

use inbox_testkit::sandbox::Sandbox;

use super::terminal::Terminal;
use crate::INBOX;
use crate::hcs::Place;

const PASSPHRASE: &str = "nine brown bells";

/// A command at a terminal of eighty columns.
fn at_terminal(desk: &Sandbox, words: &str) -> Terminal {
    Terminal::open(desk, words, (80, 24))
}

/// A store with a person who has locked her name.
fn locked() -> Sandbox {
    let desk = Sandbox::new(INBOX);
    lock(&desk, "ada");
    desk
}

/// Puts a person on the roster, and locks her name.
fn lock(desk: &Sandbox, name: &str) {
    desk.ok(&format!("agent add {name} --kind human"));
    let mut terminal = at_terminal(desk, "lock");
    terminal.sees(&format!("a passphrase for {name}:"));
    terminal.types(&format!("{PASSPHRASE}\n"));
    terminal.sees("the same again:");
    terminal.types(&format!("{PASSPHRASE}\n"));
    terminal.sees(&format!("{name}  locked"));
    assert_eq!(terminal.ends(), 0);
    terminal.is_as_it_began();
    assert!(!terminal.text().contains("bells"), "nobody sees it");
}

#[test]
fn whoever_speaks_as_a_person_with_a_lock_types_her_passphrase() {
    let desk = locked();
    // An agent has no terminal, and is told so instead of being asked.
    let line = "send --from ada --to backend --subject Pay~them --json";
    let refused = desk.run(line.split(' ').map(|word| word.replace('~', " ")));
    let refused = refused.refused(30, "locked");
    assert_eq!(refused["error"]["details"]["agent_id"], "ada");
    for line in [
        "token create --agent ada --json",
        "ui --no-open --json",
        "agent add eve --kind human --json",
        "lock --off --json",
    ] {
        desk.run(line.split(' ')).refused(30, "locked");
    }
    assert!(desk.ok("list")["threads"].as_array().unwrap().is_empty());
    let mut terminal = at_terminal(&desk, "send --from ada --to backend --subject Hello");
    terminal.sees("ada's passphrase:");
    // The second is typed before it is asked for.
    terminal.types(&format!("nine brown balls\n{PASSPHRASE}\n"));
    terminal.sees("this is not ada's passphrase");
    terminal.sees("thr_1");
    assert_eq!(terminal.ends(), 0, "{}", terminal.text());
    terminal.is_as_it_began();
    assert!(!terminal.text().contains("brown"), "nobody sees it");
    let shown = desk.ok("show --thread thr_1");
    assert_eq!(shown["messages"][0]["from_agent"], "ada");
    assert_eq!(shown["messages"][0]["verified"], true);
}

#[test]
fn who_does_not_know_the_passphrase_is_asked_three_times() {
    let desk = locked();
    let mut terminal = at_terminal(&desk, "token create --agent ada");
    for tries in 1..=3 {
        terminal.until_seen("ada's passphrase:", tries);
        terminal.types("guess guess\n");
    }
    assert_eq!(terminal.ends(), 30, "{}", terminal.text());
    terminal.is_as_it_began();
    assert!(
        desk.ok("token list")["tokens"]
            .as_array()
            .unwrap()
            .is_empty()
    );
}

#[test]
fn the_console_in_the_terminal_asks_once_and_speaks_for_her() {
    let desk = locked();
    desk.ok("send --from backend --to ada --subject Which~auth?");
    let mut terminal = at_terminal(&desk, "");
    terminal.sees("ada's passphrase:");
    terminal.types(&format!("{PASSPHRASE}\n"));
    terminal.sees("Which auth?");
    terminal.types("q");
    terminal.ends_as_it_began();
    let mut terminal = at_terminal(&desk, "lock --off");
    terminal.sees("ada's passphrase:");
    terminal.types(&format!("{PASSPHRASE}\n"));
    terminal.sees("ada  no lock");
    assert_eq!(terminal.ends(), 0);
    desk.ok("send --from ada --to backend --subject Hello");
}

#[test]
fn a_wait_that_keeps_her_lease_takes_the_passphrase() {
    let desk = locked();
    desk.ok("send --from lead --to ada --subject Look~at~it");
    let mut terminal = at_terminal(&desk, "claim --agent ada --thread thr_1");
    terminal.sees("ada's passphrase:");
    terminal.types(&format!("{PASSPHRASE}\n"));
    terminal.sees("leased until");
    assert_eq!(terminal.ends(), 0, "{}", terminal.text());
    // A program would keep the lease alive in her name, and is told.
    let line = "wait-reply --agent ada --thread thr_1 --timeout-seconds 0";
    let program = format!("{line} --json");
    desk.run(program.split(' ')).refused(30, "locked");
    desk.ok("reply --from lead --thread thr_1 --summary Well?");
    let mut terminal = at_terminal(&desk, line);
    terminal.sees("ada's passphrase:");
    terminal.types(&format!("{PASSPHRASE}\n"));
    terminal.sees("Well?");
    assert_eq!(terminal.ends(), 0, "{}", terminal.text());
    terminal.is_as_it_began();
}

#[test]
fn a_signature_by_hand_takes_the_passphrase_of_a_person_with_a_lock() {
    let place = Place::new();
    place.inbox.run(["init", "--json"]).ok();
    let topic = place.connected();
    let propose = format!("propose {topic} --transfer ben:ada:3 --agent ada");
    let number = place.ok(&propose)["sequence_number"].clone();
    lock(&place.inbox, "pat");
    // A program has the keys and no terminal: it is told, and nothing is signed.
    let line = format!("approve {topic} {number} --agent ben --yes");
    let refused = place.run(&format!("{line} --json")).refused(30, "locked");
    assert_eq!(refused["error"]["details"]["agent_id"], "pat");
    let mut terminal = at_terminal(&place.inbox, &format!("hcs {line}"));
    terminal.sees("pat's passphrase:");
    terminal.types("guess guess\n");
    terminal.sees("this is not pat's passphrase");
    terminal.types(&format!("{PASSPHRASE}\n"));
    terminal.sees("signed and carried out");
    assert_eq!(terminal.ends(), 0, "{}", terminal.text());
    terminal.is_as_it_began();
}
