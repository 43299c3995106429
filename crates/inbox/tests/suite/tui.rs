//! The console in a real terminal: what a person sees and types, and what it does to others.

pub(crate) mod hostile;
mod lock;
pub(crate) mod terminal;

use inbox_testkit::sandbox::{Sandbox, finish, words};
use rustix::process::Signal;
use serde_json::Value;

use crate::INBOX;
use crate::server::Served;
use terminal::Terminal;

/// A store with a person, and work of hers that is blocked on a question.
fn blocked() -> (Sandbox, String) {
    let desk = Sandbox::new(INBOX);
    let lease = block(&desk);
    (desk, lease)
}

fn block(desk: &Sandbox) -> String {
    desk.ok("agent add ada --kind human");
    desk.ok("send --from ada --to backend --subject Add~posts");
    let claimed = desk.ok("claim --agent backend --thread thr_1");
    let lease = claimed["lease"]["lease_token"].as_str().unwrap().to_owned();
    desk.ok(&format!(
        "update --lease {lease} --thread thr_1 --status blocked --summary Which~auth?"
    ));
    lease
}

fn thread(desk: &Sandbox, id: &str) -> Value {
    desk.ok(&format!("show --thread {id}"))["thread"].clone()
}

#[test]
fn a_blocked_worker_is_answered_from_the_terminal_and_goes_on() {
    let (desk, lease) = blocked();
    let waiting = desk.spawn(words(&format!(
        "wait-reply --lease {lease} --thread thr_1 --timeout-seconds 60"
    )));
    let mut terminal = Terminal::open(&desk, "", (80, 24));
    terminal.sees("◼ Blocked    Which auth?");
    terminal.sees("backend has waited");
    terminal.sees("ada ● live");
    terminal.types("a");
    terminal.sees("Answer backend: Add posts");
    terminal.types("By e-mail.\rOAuth comes later.");
    terminal.sees("OAuth comes later.");
    terminal.types("\x13");
    let woke = finish(waiting).ok();
    assert_eq!(woke["message"]["summary"], "By e-mail.");
    assert_eq!(woke["message"]["body"], "By e-mail.\nOAuth comes later.");
    assert_eq!(woke["message"]["from_agent"], "ada");
    terminal.sees("✓ answered: backend goes on");
    terminal.sees("Nothing waits for you");
    terminal.types("q");
    terminal.ends_as_it_began();
}

#[test]
fn an_approval_is_given_with_two_keys() {
    let desk = Sandbox::new(INBOX);
    desk.ok("agent add ada --kind human");
    desk.ok(
        "send --from ops --to ada --kind question --message-type exec.gate --subject Deploy~v2",
    );
    let waiting = desk.spawn(words(
        "wait-reply --agent ops --thread thr_1 --timeout-seconds 60",
    ));
    let terminal = Terminal::open(&desk, "", (80, 24));
    terminal.sees("▲ Approval   Deploy v2");
    terminal.types("y");
    terminal.sees("Approve?");
    terminal.types("at night\r");
    let woke = finish(waiting).ok();
    assert_eq!(woke["message"]["summary"], "approve");
    assert_eq!(woke["message"]["body"], "at night");
    terminal.sees("✓ answered: ops goes on");
}

#[test]
fn work_is_claimed_for_another_and_called_off() {
    let (desk, _) = blocked();
    desk.ok("session start --agent quinn --session s1");
    let terminal = Terminal::open(&desk, "", (80, 24));
    terminal.sees("Which auth?");
    terminal.types("2");
    terminal.sees("└ ◼ blocked  Add posts");
    terminal.sees("quinn");
    terminal.types("jc");
    terminal.sees("Claim for: Add posts");
    terminal.types("qui");
    terminal.sees("▌ quinn");
    terminal.types("\r");
    terminal.sees("✓ Add posts is for quinn now");
    let moved = thread(&desk, "thr_1");
    assert_eq!(moved["status"], "pending");
    assert_eq!(moved["to"], serde_json::json!(["quinn"]));
    terminal.types("3");
    terminal.sees("○ pending     Add posts");
    terminal.types("x");
    terminal.sees("Call it off?");
    terminal.types("no longer needed\r");
    terminal.sees("✓ called off: Add posts");
    assert_eq!(thread(&desk, "thr_1")["status"], "cancelled");
    terminal.types("x");
    terminal.sees("Call it off?");
    terminal.types("twice\r");
    terminal.sees("✕");
    terminal.sees("twice");
}

#[test]
fn what_others_do_is_seen_without_a_key() {
    let (desk, lease) = blocked();
    let terminal = Terminal::open(&desk, "", (120, 30));
    terminal.sees("Which auth?");
    desk.ok("send --from ops --to ada --kind event --priority urgent --subject Disk~is~full");
    terminal.sees("Disk is full urgent");
    desk.ok(&format!(
        "update --lease {lease} --thread thr_1 --status blocked --summary Or~which~one?"
    ));
    terminal.sees("Or which one?");
    desk.ok("cancel --agent ada --thread thr_1");
    terminal.sees("For you  ");
}

#[test]
fn a_terminal_of_another_size_is_filled_anew() {
    let (desk, _) = blocked();
    let mut terminal = Terminal::open(&desk, "tui", (60, 16));
    terminal.sees("Which auth?");
    terminal.sees("? keys  q leave");
    assert!(!terminal.text().contains("thr_1"));
    terminal.resize((130, 40));
    terminal.sees("thr_1");
    terminal.sees("backend has it for another 14:");
    terminal.resize((20, 5));
    terminal.sees("too small");
    terminal.resize((80, 24));
    terminal.sees("Which auth?");
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    for signal in [Signal::TERM, Signal::HUP, Signal::INT] {
        let (desk, _) = blocked();
        let mut terminal = Terminal::open(&desk, "", (80, 24));
        terminal.sees("Which auth?");
        terminal.signal(signal);
        terminal.ends_as_it_began();
    }
}

#[test]
fn it_stops_for_a_while_and_goes_on() {
    let (desk, _) = blocked();
    let mut terminal = Terminal::open(&desk, "", (80, 24));
    terminal.sees("Which auth?");
    for stop in ["\x1a", ""] {
        match stop {
            "" => terminal.signal(Signal::TSTP),
            keys => terminal.types(keys),
        }
        terminal.is_stopped();
        terminal.is_as_it_began();
        desk.ok("send --from ops --to ada --kind event --subject Meanwhile");
        terminal.signal(Signal::CONT);
        terminal.sees("Meanwhile");
    }
    terminal.types("q");
    terminal.ends_as_it_began();
}

#[test]
fn a_fault_behind_it_is_told_and_does_not_end_it() {
    let (mut desk, _) = blocked();
    desk.set("INBOX_FAULT", "read:2-3");
    let mut terminal = Terminal::open(&desk, "", (80, 24));
    terminal.sees("a fault in inbox");
    terminal.sees("Which auth?");
    terminal.types("q");
    terminal.ends_as_it_began();
}

#[test]
fn through_a_server_it_is_the_same() {
    let served = Served::start();
    let lease = block(&served.desk);
    let secret = served.token("ada", "--scope read,write,override");
    let waiting = served.desk.spawn(words(&format!(
        "wait-reply --lease {lease} --thread thr_1 --timeout-seconds 60"
    )));
    let mut far = Sandbox::empty(INBOX);
    far.set("INBOX_DB", &served.url);
    far.set("INBOX_TOKEN", &secret);
    let mut terminal = Terminal::open(&far, "", (80, 24));
    terminal.sees("Which auth?");
    served
        .desk
        .ok("send --from ops --to ada --kind event --subject Something~new");
    terminal.sees("Something new");
    terminal.types("aBoth.\x13");
    let woke = finish(waiting).ok();
    assert_eq!(woke["message"]["summary"], "Both.");
    assert_eq!(woke["message"]["auth"], "token");
    terminal.sees("✓ answered");
    terminal.types("q");
    terminal.ends_as_it_began();
}

#[test]
fn without_a_person_before_it_bare_inbox_says_what_it_always_said() {
    let (desk, _) = blocked();
    let said = desk.run(Vec::<String>::new());
    assert_eq!(said.code, 30, "{said}");
    assert_eq!(said.stdout, "");
    assert_eq!(
        said.stderr,
        "error: no command was given (invalid_input)\nhint: inbox --help lists the commands\n"
    );
    let refused = desk.run(["tui"]);
    assert_eq!(refused.code, 30, "{refused}");
    assert!(refused.stderr.contains("hint: inbox desk"), "{refused}");
    for (name, value) in [("TERM", "dumb"), ("CLAUDECODE", "1"), ("INBOX_LEAN", "1")] {
        let (mut desk, _) = blocked();
        desk.set(name, value);
        let mut terminal = Terminal::open(&desk, "", (80, 24));
        terminal.sees("error: no command was given (invalid_input)");
        assert_eq!(terminal.ends(), 30);
        assert!(!terminal.was_taken(), "{name}={value}");
    }
    let mut terminal = Terminal::open(&desk, "--json", (80, 24));
    terminal.sees("no command was given");
    assert_eq!(terminal.ends(), 30);
    assert!(!terminal.was_taken());
}

#[test]
fn who_looks_is_the_person_or_who_is_named() {
    let (desk, _) = blocked();
    let mut terminal = Terminal::open(&desk, "--agent backend", (80, 24));
    terminal.sees("backend ● live");
    terminal.types("q");
    assert_eq!(terminal.ends(), 0);
    desk.ok("agent add bob --kind human");
    let mut terminal = Terminal::open(&desk, "", (100, 24));
    terminal.sees("several persons");
    terminal.sees("inbox --agent ada in a terminal");
    assert_eq!(terminal.ends(), 30);
    let nothing = Sandbox::empty(INBOX);
    let terminal = Terminal::open(&nothing, "", (100, 24));
    terminal.sees("store_not_found");
    terminal.sees("hint: inbox init makes one here");
    assert!(!terminal.was_taken());
}

#[test]
fn without_colour_everything_is_still_told() {
    let (mut desk, _) = blocked();
    desk.set("NO_COLOR", "1");
    let mut terminal = Terminal::open(&desk, "", (80, 24));
    terminal.sees("▌ ◼ Blocked    Which auth?");
    terminal.types("q");
    terminal.ends_as_it_began();
    let out = terminal.bytes();
    for part in String::from_utf8_lossy(&out).split("\x1b[").skip(1) {
        let end = part.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(0);
        let (codes, last) = (&part[..end], &part[end..=end]);
        let is_plain = |code: &str| matches!(code, "0" | "1" | "2" | "3" | "4" | "7");
        assert!(last != "m" || codes.split(';').all(is_plain), "{codes}");
    }
}
