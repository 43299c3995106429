//! The console without a terminal: keys and answers in, a screen and orders out.

mod hostile;
mod live;

use inbox_core::record::Millis;
use inbox_core::{Code, Refusal};
use inbox_ops::{Agents, Shown, Threads, Waits};
use ratatui_core::backend::TestBackend;
use ratatui_core::buffer::Buffer;
use ratatui_core::terminal::Terminal;
use serde_json::{Value, json};

use super::app::{App, Order, Tab};
use super::clerk::{Filter, Found, Looked, Step, Which};
use super::keys::{Key, Keys};

/// When it is, in the tests.
const NOW: i64 = 1_900_000_000_000;

fn at(seconds_ago: i64) -> String {
    Millis(NOW - seconds_ago * 1000).to_string()
}

fn thread(number: i64, subject: &str, status: &str) -> Value {
    json!({
        "thread_id": format!("thr_{number}"), "run_id": "", "task_id": "", "subject": subject,
        "created_by": "ada", "assigned_to": "backend", "to": ["backend"], "status": status, "priority": "normal",
        "attempts": 1, "latest_message_id": null, "ref_type": null, "ref_id": null,
        "created_at": at(600), "updated_at": at(300),
    })
}

fn message(number: i64, thread: i64, from: &str, kind: &str, text: &str) -> Value {
    json!({
        "message_id": format!("msg_{number}"), "uid": "u", "thread_id": format!("thr_{thread}"), "from_agent": from,
        "from_session": null, "to_agent": "ada", "to": ["ada"], "kind": kind, "message_type": null, "summary": text,
        "body": "", "payload_json": {}, "context": {}, "parent_message_id": null, "hops": 0, "priority": "normal",
        "expires_at": null, "verified": false, "auth": "local", "created_at": at(200),
    })
}

fn ask(sort: &str, number: i64, from: &str, text: &str) -> Value {
    json!({
        "sort": sort, "thread": thread(number, "Work", "blocked"),
        "message": message(number, number, from, "question", text), "waiting": from, "since": at(720),
        "lease_until": at(-271),
    })
}

/// What waits: a question, an approval, and mail of each sort.
fn desk() -> Value {
    let mut urgent = message(11, 3, "ops", "event", "Disk is full");
    urgent["priority"] = "urgent".into();
    let mut note = message(12, 4, "ops", "event", "Prefer small steps");
    note["message_type"] = "task.note".into();
    let mut approval = ask("approval", 2, "ops", "Deploy v2");
    approval["message"]["payload_json"] = json!({"command": "./deploy.sh"});
    json!({
        "agent_id": "ada",
        "asks": [ask("blocked", 1, "backend", "Which auth?"), approval],
        "elsewhere": [ask("blocked", 7, "docs", "Which style?")],
        "mail": [urgent, note, message(13, 5, "backend", "event", "Tests are green")],
        "mail_after": null, "unread": 3, "unread_is_more": false, "next_event_id": 9,
    })
}

fn agent(name: &str, state: Value, holds: Value) -> (Value, Value) {
    let agent = json!({
        "agent_id": name, "kind": "agent", "name": name, "state": state, "roles": ["dev"], "tags": ["api"],
        "account_id": null, "inbound_topic_id": null, "outbound_topic_id": null, "has_card": false,
        "created_at": at(9000), "seen_at": at(30),
    });
    let work = json!({ "agent_id": name, "holds": holds, "unread": 2, "clients": ["codex"] });
    (agent, work)
}

fn roster() -> Value {
    let holds = json!([{ "thread": thread(1, "Work", "blocked"), "expires_at": at(-271) }]);
    let all = [
        agent("backend", "alive".into(), holds),
        agent("docs", "frozen".into(), json!([])),
        agent("ops", "dead".into(), json!([])),
        agent("quinn", Value::Null, json!([])),
    ];
    let (agents, work): (Vec<_>, Vec<_>) = all.into_iter().unzip();
    json!({ "agents": agents, "work": work, "next_event_id": 9 })
}

fn shown(number: i64, messages: &[Value]) -> Shown {
    let shown = json!({
        "thread": thread(number, "Work", "blocked"), "messages": messages, "artifacts": [],
        "lease": {"thread_id": format!("thr_{number}"), "agent_id": "backend", "epoch": 1, "claimed_at": at(300),
            "expires_at": at(-271)},
        "next_event_id": 9,
    });
    serde_json::from_value(shown).unwrap()
}

fn looked(desk: Value) -> Looked {
    Looked {
        desk: serde_json::from_value::<Waits>(desk).unwrap(),
        agents: None,
        threads: None,
        thread: None,
    }
}

fn threads() -> Found {
    let found = json!({
        "threads": [thread(1, "Work", "blocked"), thread(6, "Guide", "done")],
        "truncated": false, "next_event_id": 9,
    });
    Found::Threads(serde_json::from_value::<Threads>(found).unwrap())
}

/// A console that has seen everything.
fn app(width: u16, height: u16) -> App {
    let mut app = App::new("ada".parse().unwrap(), (width, height), Millis(NOW));
    app.looked(Ok(looked(desk())));
    app.agents = Some(serde_json::from_value::<Agents>(roster()).unwrap());
    app.found = Some(threads());
    app
}

/// What is on the screen.
fn screen(app: &mut App) -> String {
    let (width, height) = app.size;
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal
        .draw(|frame| {
            app.draw(frame.buffer_mut());
        })
        .unwrap();
    text(terminal.backend().buffer())
}

fn text(buffer: &Buffer) -> String {
    let width = usize::from(buffer.area.width);
    let rows = buffer.content().chunks(width.max(1));
    let rows = rows.map(|row| row.iter().map(|cell| cell.symbol()).collect::<String>());
    rows.map(|row| format!("{}\n", row.trim_end())).collect()
}

fn typed(app: &mut App, text: &str) -> Vec<Order> {
    let mut orders = Vec::new();
    for key in Keys::default().read(text.as_bytes()) {
        orders.extend(app.key(&key));
    }
    orders
}

#[track_caller]
fn has(screen: &str, wanted: &str) {
    assert!(screen.contains(wanted), "no {wanted:?} in\n{screen}");
}

#[track_caller]
fn step(orders: &[Order]) -> Step {
    let mut steps = orders.iter().filter_map(|order| match order {
        Order::Do(step) => Some(step.clone()),
        _ => None,
    });
    let step = steps.next();
    assert_eq!(steps.next(), None, "one step");
    step.unwrap_or_else(|| panic!("no step in {orders:?}"))
}

#[test]
fn questions_stand_first_with_how_long_they_have_kept_somebody_waiting() {
    let screen = screen(&mut app(80, 30));
    let order = [
        "1 For you (2)",
        "Waiting for your answer 2",
        "◼ Blocked    Which auth?",
        "backend has waited 12m",
        "lease 4:31",
        "▲ Approval   Deploy v2",
        "Urgent 1",
        "Disk is full urgent",
        "Blocked on others 1",
        "Which style?",
        "Notes 1",
        "Prefer small steps",
        "Mail 1",
        "Tests are green",
    ];
    let mut rest = screen.as_str();
    for wanted in order {
        let found = rest.find(wanted);
        let found = found.unwrap_or_else(|| panic!("no {wanted:?} in its place in\n{screen}"));
        rest = &rest[found..];
    }
}

#[test]
fn an_answer_is_written_sent_and_gone() {
    let mut app = app(80, 24);
    typed(&mut app, "aUse e-mail.\rAnd OAuth.");
    has(&screen(&mut app), "Answer backend: Work");
    has(&screen(&mut app), "│ And OAuth.");
    let wanted = Step::Say {
        thread: "thr_1".parse().unwrap(),
        is_answer: true,
        word: None,
        body: Some("Use e-mail.\nAnd OAuth.".to_owned()),
    };
    assert_eq!(step(&typed(&mut app, "\x13")), wanted);
    assert_eq!(typed(&mut app, "\x13"), [], "it is sent once");
    assert_eq!(app.done(&wanted, Ok(())), [Order::Look]);
    let screen = screen(&mut app);
    has(&screen, "✓ answered: backend goes on");
    assert!(!screen.contains("And OAuth"), "{screen}");
    assert!(app.drafts.is_empty());
}

#[test]
fn what_is_refused_stays_written_and_the_hint_is_seen() {
    let mut app = app(80, 24);
    let sent = step(&typed(&mut app, "rToo late?\x13"));
    assert!(matches!(
        &sent,
        Step::Say {
            is_answer: false,
            ..
        }
    ));
    let refusal = Refusal::new(Code::Storage, "the disk is full").hint("inbox doctor says more");
    app.done(&sent, Err(refusal));
    let seen = screen(&mut app);
    has(&seen, "✕ the disk is full");
    has(&seen, "inbox doctor says more");
    has(&seen, "Too late?");
    assert_eq!(
        step(&typed(&mut app, "\x13")),
        sent,
        "and it can be sent again"
    );
}

#[test]
fn a_draft_is_kept_and_leaving_asks_first() {
    let mut app = app(80, 24);
    typed(&mut app, "ahalf a tho");
    app.key(&Key::Esc);
    has(&screen(&mut app), "the draft is kept");
    assert_eq!(typed(&mut app, "q"), []);
    has(&screen(&mut app), "Something that you wrote is not sent");
    app.key(&Key::Esc);
    typed(&mut app, "aught");
    has(&screen(&mut app), "half a thought");
    app.key(&Key::Esc);
    typed(&mut app, "q");
    assert_eq!(app.key(&Key::Enter), [Order::Quit]);
}

#[test]
fn an_approval_is_given_after_it_is_confirmed() {
    let mut app = app(80, 24);
    assert_eq!(typed(&mut app, "y"), [], "a blocked worker wants words");
    has(&screen(&mut app), "asks for words");
    typed(&mut app, "jy");
    let seen = screen(&mut app);
    has(&seen, "Approve?");
    has(&seen, "Deploy v2");
    has(&seen, "│ command: ./deploy.sh");
    app.key(&Key::Esc);
    assert!(app.dialog.is_none() && app.doing.is_none());
    let orders = typed(&mut app, "nnot on Friday\r");
    let wanted = Step::Say {
        thread: "thr_2".parse().unwrap(),
        is_answer: true,
        word: Some("reject".to_owned()),
        body: Some("not on Friday".to_owned()),
    };
    assert_eq!(step(&orders), wanted);
    app.done(&wanted, Ok(()));
    assert!(app.dialog.is_none());
}

#[test]
fn what_cannot_be_read_cannot_be_signed() {
    let mut app = app(80, 24);
    let mut signs = ask("approval", 1, "system", "Sign schedule 0.0.5");
    signs["message"]["message_type"] = "transaction.approval".into();
    signs["message"]["payload_json"] = json!({"decisions": ["reject", "dismiss"], "does": []});
    let mut desk = desk();
    desk["asks"] = json!([signs]);
    app.looked(Ok(looked(desk)));
    typed(&mut app, "y");
    has(&screen(&mut app), "it can only be: reject, dismiss");
    typed(&mut app, "d");
    has(&screen(&mut app), "what it would do:");
    has(&screen(&mut app), "cannot be read");
    let step = step(&typed(&mut app, "\r"));
    assert!(matches!(step, Step::Say { word: Some(word), .. } if word == "dismiss"));
}

#[test]
fn work_is_given_to_whoever_is_typed_or_chosen() {
    let mut app = app(80, 24);
    typed(&mut app, "c");
    assert!(app.wish().agents, "the roster is looked at");
    let seen = screen(&mut app);
    has(&seen, "Claim for: Work");
    has(&seen, "backend");
    has(&seen, "● alive, holds 1 thread");
    has(&seen, "role:dev");
    let given = |to: Option<&str>| Step::Give {
        thread: "thr_1".parse().unwrap(),
        to: to.map(str::to_owned),
    };
    assert_eq!(step(&typed(&mut app, "qui\r")), given(Some("quinn")));
    app.doing = None;
    app.dialog = None;
    assert_eq!(
        step(&typed(&mut app, "cnobody-yet\r")),
        given(Some("nobody-yet"))
    );
    app.doing = None;
    app.dialog = None;
    assert_eq!(step(&typed(&mut app, "c\x14")), given(None));
}

#[test]
fn calling_off_asks_why_and_is_confirmed() {
    let mut app = app(80, 24);
    typed(&mut app, "x");
    has(&screen(&mut app), "Call it off?");
    let wanted = Step::CallOff {
        thread: "thr_1".parse().unwrap(),
        reason: Some("no longer needed".to_owned()),
    };
    assert_eq!(step(&typed(&mut app, "no longer needed\r")), wanted);
}

#[test]
fn mail_is_marked_as_read_alone_or_all_at_once() {
    let mut app = app(80, 24);
    assert_eq!(
        typed(&mut app, "e"),
        [],
        "a question is answered, not marked"
    );
    assert_eq!(
        step(&typed(&mut app, "jje")),
        Step::Read(vec!["msg_11".parse().unwrap()])
    );
    app.doing = None;
    assert_eq!(step(&typed(&mut app, "E")), Step::Read(Vec::new()));
}

#[test]
fn the_roster_says_who_is_there_and_what_each_holds() {
    let mut app = app(90, 24);
    typed(&mut app, "2");
    let seen = screen(&mut app);
    for wanted in [
        "Here now 2",
        "● alive      backend",
        "role:dev api codex",
        "blocked  2 unread",
        "└ ◼ blocked  Work",
        "lease  4:31",
        "❄ frozen     docs",
        "Away 2",
        "○ gone       ops",
        "· no session quinn",
    ] {
        has(&seen, wanted);
    }
    app.key(&Key::Enter);
    assert_eq!(app.tab, Tab::Threads);
    assert_eq!(app.filter.agent, Some("backend".parse().unwrap()));
}

#[test]
fn threads_are_searched_and_filtered() {
    let mut app = app(80, 24);
    typed(&mut app, "3");
    has(&screen(&mut app), "✓ done        Guide");
    app.size.0 = 60;
    has(&screen(&mut app), "? keys  q leave");
    app.size.0 = 80;
    typed(&mut app, "s");
    assert_eq!(app.filter.which, Which::Open);
    typed(&mut app, "/oauth\r");
    assert_eq!(
        app.wish().threads.map(|filter| filter.query),
        Some("oauth".to_owned())
    );
    let refusal = Refusal::input("the query is wrong").hint("inbox search --help");
    let mut found = looked(desk());
    found.threads = Some((app.filter.clone(), Err(refusal)));
    app.looked(Ok(found));
    has(&screen(&mut app), "✕ the query is wrong");
    app.key(&Key::Esc);
    assert_eq!(app.filter, Filter::default());
}

#[test]
fn a_thread_is_read_from_its_end_and_new_words_appear_there() {
    let mut app = app(60, 16);
    let orders = app.key(&Key::Enter);
    assert_eq!(orders, [Order::Look]);
    let mut said: Vec<Value> = (1..30)
        .map(|number| message(number, 1, "backend", "progress", &format!("step {number}")))
        .collect();
    let tell = |app: &mut App, said: &[Value]| {
        let mut found = looked(desk());
        found.thread = Some(("thr_1".parse().unwrap(), Ok(shown(1, said))));
        app.looked(Ok(found));
    };
    tell(&mut app, &said);
    let seen = screen(&mut app);
    has(&seen, "backend has it for another 4:31");
    has(&seen, "step 29");
    said.push(message(30, 1, "ops", "progress", "step 30"));
    tell(&mut app, &said);
    has(&screen(&mut app), "step 30");
    typed(&mut app, "g");
    has(&screen(&mut app), "step 1\n");
    has(&screen(&mut app), "more lines ↓");
    said.push(message(31, 1, "ops", "progress", "step 31"));
    tell(&mut app, &said);
    has(&screen(&mut app), "step 1\n");
    app.key(&Key::Esc);
    has(&screen(&mut app), "Waiting for your answer");
}

#[test]
fn what_comes_late_for_another_thread_is_not_shown() {
    let mut app = app(80, 24);
    app.key(&Key::Enter);
    let mut found = looked(desk());
    found.thread = Some(("thr_9".parse().unwrap(), Ok(shown(9, &[]))));
    app.looked(Ok(found));
    assert!(app.reading.shown.is_none());
}

#[test]
fn beside_a_list_the_chosen_thread_is_shown() {
    let mut app = app(130, 24);
    assert_eq!(app.wish().thread, Some("thr_1".parse().unwrap()));
    assert_eq!(typed(&mut app, "j"), [Order::Look]);
    assert_eq!(app.wish().thread, Some("thr_2".parse().unwrap()));
    app.resized((80, 24));
    assert_eq!(app.wish().thread, None);
}

#[test]
fn countdowns_go_on_by_the_clock_alone() {
    let mut app = app(80, 24);
    app.now = Millis(NOW + 61_000);
    has(&screen(&mut app), "lease 3:30");
    has(&screen(&mut app), "has waited 13m");
}

#[test]
fn trouble_is_told_and_what_was_seen_stays() {
    let mut app = app(80, 24);
    let refusal =
        Refusal::new(Code::Storage, "cannot reach the server").hint("inbox serve runs it");
    app.looked(Err(refusal));
    let seen = screen(&mut app);
    has(&seen, "✕ not live");
    has(&seen, "cannot reach the server");
    has(&seen, "Which auth?");
    app.looked(Ok(looked(desk())));
    has(&screen(&mut app), "● live");
}

#[test]
fn where_one_is_is_told_without_colour() {
    let mut app = app(80, 24);
    let chosen = |screen: &str| {
        let line = screen.lines().find(|line| line.starts_with('▌'));
        line.unwrap_or_default().to_owned()
    };
    has(&chosen(&screen(&mut app)), "Which auth?");
    typed(&mut app, "j");
    has(&chosen(&screen(&mut app)), "Deploy v2");
    typed(&mut app, "G");
    has(&chosen(&screen(&mut app)), "Tests are green");
}

#[test]
fn every_screen_fits_every_size() {
    let long = "a word and ".repeat(40);
    for keys in [
        "",
        "2",
        "3",
        "\r",
        "a",
        "jy",
        "x",
        "c",
        "/",
        "?",
        "aone\rtwo",
    ] {
        for width in [1, 2, 29, 30, 31, 40, 60, 80, 109, 110, 111, 200] {
            for height in [1, 2, 7, 8, 9, 12, 16, 24, 60] {
                let mut app = app(width, height);
                let mut found = looked(desk());
                let body = message(1, 1, "backend", "question", &long);
                found.thread = Some(("thr_1".parse().unwrap(), Ok(shown(1, &[body]))));
                app.reading.id = Some("thr_1".parse().unwrap());
                app.looked(Ok(found));
                app.refused(&Refusal::input(long.clone()).hint(long.clone()));
                typed(&mut app, keys);
                let seen = screen(&mut app);
                let lines = seen.lines().count();
                assert_eq!(lines, usize::from(height), "{keys:?} at {width}×{height}");
                if width >= 60 && height >= 16 && keys.is_empty() {
                    has(&seen, "Which auth?");
                    has(&seen, "? keys");
                }
            }
        }
    }
}
