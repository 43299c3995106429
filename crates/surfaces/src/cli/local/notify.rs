//! `notify`: tells people elsewhere of what is urgent and of questions, and sums up the rest.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::{Arg, ArgAction, ArgMatches, Command};
use inbox_core::record::Millis;
use inbox_core::text::visible;
use inbox_core::{AgentKind, Code, Refusal};
use inbox_ops::{Cell, Inbox, Notice, Page};
use inbox_store::{Location, NoticesWaiting, ReachRow, Store};
use serde_json::{Value, json};

use crate::cli::print::complain;
use crate::cli::{Context, Ended, config, operation};
use crate::notify::{Event, Keeper, Reach, Told, once, shown, title};

/// How often it is said of one way that it fails.
const COMPLAINT: Duration = Duration::from_mins(1);

/// After so long somebody should have sent what is due.
const UNSENT: i64 = 5 * 60_000;

pub(super) fn describe(command: Command) -> Command {
    let flag = |name: &'static str, help: &'static str| {
        Arg::new(name)
            .long(name)
            .action(ArgAction::SetTrue)
            .help(help)
    };
    command
        .about("Tell people elsewhere of what is urgent and of questions, until it is told to stop")
        .long_about(
            "Tell people elsewhere of what is urgent and of questions, until it is told to stop\n\n[notify] in inbox.toml says who is told and by what: desktop, webhook or command; and when the rest is summed up. Each message is told of once, also when several run. inbox up does the same.",
        )
        .arg(flag("once", "Tell what is due now, and end").conflicts_with_all(["test", "status"]))
        .arg(flag("test", "Tell everybody a test by every way, and say what happened").conflicts_with("status"))
        .arg(flag("status", "Show by what people are told, what waits, and what fails"))
}

pub(super) fn run(matches: &ArgMatches, context: &Context) -> Result<Ended, Refusal> {
    let inbox = operation::open(context)?;
    if matches.get_flag("status") {
        return status(&inbox, context);
    }
    if !inbox.config().notify.is_wanted() {
        return Err(
            Refusal::input("nobody is told by anything: notify.desktop, notify.webhook and notify.command are not set").hint(
                "inbox config shows the settings; [notify] desktop = true in inbox.toml sets one",
            ),
        );
    }
    if matches.get_flag("test") {
        return test(&inbox, context);
    }
    if matches.get_flag("once") {
        let counts = once(&inbox, &complaints("inbox notify"))?;
        if context.printer.is_json() {
            let body = json!({ "sent": counts.sent, "failed": counts.failed });
            context.printer.object("notify", true, &body)?;
        } else {
            let line = format!("{} sent, {} failed\n", counts.sent, counts.failed);
            context.printer.raw(&line)?;
        }
        return Ok(Ended::Something);
    }
    let reaches = names(&Reach::all(inbox.config())?);
    let people = inbox.people_told()?;
    let location = inbox.store().location().clone();
    drop(inbox);
    let printer = context.printer;
    let complain_of = complaints("inbox notify");
    let told: Told = Arc::new(move |reach, event| {
        if let Event::Notice(notice, Ok(())) = &event {
            let line = line_of(reach, notice, printer.is_json());
            // A reader that has gone is no reason to stop telling.
            let _ = printer.raw(&line);
        }
        complain_of(reach, event);
    });
    let keeper = Keeper::start(&location, told)?;
    if printer.is_json() {
        let body = json!({ "people": people, "reaches": reaches });
        printer.object("notify", true, &body)?;
    } else {
        let people: Vec<String> = people.iter().map(ToString::to_string).collect();
        printer.raw(&format!(
            "{} by {}\n",
            people.join(", "),
            reaches.join(", ")
        ))?;
    }
    if let Some(keeper) = keeper {
        stop_when_told(keeper.over())?;
        keeper.until_over();
    }
    Ok(Ended::Something)
}

fn names(reaches: &[Reach]) -> Vec<String> {
    reaches.iter().map(Reach::shown).collect()
}

/// Those who tell people beside a server, and by what.
pub(super) fn beside(location: &Location) -> Result<Option<(Keeper, Vec<String>)>, Refusal> {
    let reaches = names(&Reach::all(&config::load(location)?)?);
    let keeper = Keeper::start(location, complaints("inbox up"))?;
    Ok(keeper.map(|keeper| (keeper, reaches)))
}

/// Says what fails, of each way now and then.
fn complaints(who: &'static str) -> Told {
    let last: Mutex<BTreeMap<String, Instant>> = Mutex::default();
    Arc::new(move |reach, event| {
        let problem = match event {
            Event::Notice(_, Ok(())) => return,
            Event::Notice(_, Err(problem)) => problem.clone(),
            Event::Store(refusal) => refusal.message.clone(),
        };
        let Ok(mut last) = last.lock() else { return };
        let shown = reach.shown();
        let is_time = last
            .get(&shown)
            .is_none_or(|last| last.elapsed() >= COMPLAINT);
        if is_time {
            complain(&format!(
                "{who}: {shown} does not work now: {problem}; inbox notify --status says what waits"
            ));
            last.insert(shown, Instant::now());
        }
    })
}

fn line_of(reach: &Reach, notice: &Notice, is_json: bool) -> String {
    let reach = reach.shown();
    if is_json {
        let sent = json!({ "id": notice.id, "sort": notice.sort, "person": notice.person, "reach": reach });
        return format!("{}\n", json!({ "sent": sent }));
    }
    let title = title(notice);
    format!("{}  {reach}  {}\n", notice.person, visible(&title, false))
}

fn stop_when_told(over: Arc<AtomicBool>) -> Result<(), Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Refusal::new(Code::Internal, format!("no runtime: {error}")))?;
    std::thread::spawn(move || {
        let _ = runtime.block_on(crate::http::signalled());
        over.store(true, Ordering::SeqCst);
    });
    Ok(())
}

fn test(inbox: &Inbox, context: &Context) -> Result<Ended, Refusal> {
    let over = AtomicBool::new(false);
    let (now, mut tried) = (inbox.now()?, Vec::new());
    let reaches = Reach::all(inbox.config())?;
    for person in inbox.people_told()? {
        for reach in &reaches {
            let notice = Notice::test(person.clone(), now);
            tried.push((
                person.clone(),
                reach.shown(),
                reach.send(&notice, false, &over),
            ));
        }
    }
    let failed = tried
        .iter()
        .filter(|(.., outcome)| outcome.is_err())
        .count();
    if context.printer.is_json() {
        let rows: Vec<Value> = tried
            .iter()
            .map(|(person, reach, outcome)| {
                json!({ "person": person, "reach": reach, "works": outcome.is_ok(), "problem": outcome.as_ref().err() })
            })
            .collect();
        context
            .printer
            .object("notify", failed == 0, &json!({ "reaches": rows }))?;
    } else {
        let rows = tried.iter().map(|(person, reach, outcome)| {
            let said = outcome.as_ref().err().map_or("sent", String::as_str);
            [&person.to_string(), reach, said]
                .map(|text| Cell::Text(text.to_owned()))
                .to_vec()
        });
        let page = Page::default().table(vec!["FOR", "BY", "OUTCOME"], rows.collect());
        context.printer.page(&page)?;
    }
    Ok(if failed == 0 {
        Ended::Something
    } else {
        Ended::Failed(Code::Storage)
    })
}

fn status(inbox: &Inbox, context: &Context) -> Result<Ended, Refusal> {
    let found = inbox.reaches()?;
    let wanted: Vec<String> = Reach::all(inbox.config())?
        .iter()
        .map(Reach::name)
        .collect();
    let is_wanted = |reach: &ReachRow| wanted.contains(&reach.name);
    if context.printer.is_json() {
        let rows: Vec<Value> = found
            .iter()
            .map(|(reach, waiting)| {
                json!({
                    "person": reach.person,
                    "reach": shown(&reach.name),
                    "configured": is_wanted(reach),
                    "state": word(reach),
                    "sent": reach.sent,
                    "sent_at": reach.sent_at,
                    "waits": waiting.count,
                    "given_up": waiting.given_up,
                    "problem": reach.problem,
                    "problem_at": reach.problem_at,
                    "next_try": reach.problem.as_ref().map(|_| reach.next_at),
                })
            })
            .collect();
        context
            .printer
            .object("notify", true, &json!({ "reaches": rows }))?;
        return Ok(Ended::Something);
    }
    if found.is_empty() {
        context
            .printer
            .page(&Page::default().line("nobody was told of anything yet".to_owned()))?;
        return Ok(Ended::Something);
    }
    let rows = found.iter().map(|(reach, waiting)| {
        let text = |text: &str| Cell::Text(text.to_owned());
        vec![
            text(reach.person.as_str()),
            text(&shown(&reach.name)),
            text(if is_wanted(reach) {
                word(reach)
            } else {
                "not set"
            }),
            text(&reach.sent.to_string()),
            text(&waiting.count.to_string()),
            reach.sent_at.map_or_else(|| text("never"), Cell::Time),
            text(reach.problem.as_deref().unwrap_or_default()),
        ]
    });
    let headings = vec!["FOR", "BY", "STATE", "SENT", "WAITS", "LAST", "PROBLEM"];
    context
        .printer
        .page(&Page::default().table(headings, rows.collect()))?;
    Ok(Ended::Something)
}

fn word(reach: &ReachRow) -> &'static str {
    match (&reach.problem, reach.sent_at) {
        (Some(_), _) => "fails",
        (None, Some(_)) => "works",
        (None, None) => "unused",
    }
}

/// What is found of one way, for `doctor`.
pub(super) struct Finding {
    pub(super) message: String,
    /// What to do, if something keeps it from working.
    pub(super) problem: Option<String>,
}

/// By what people are told elsewhere, and what keeps that from working.
pub(super) fn findings(store: &Store) -> Vec<Finding> {
    let Ok(config) = config::load(store.location()) else {
        // What is wrong with the configuration is said by every command.
        return Vec::new();
    };
    let reaches = match Reach::all(&config) {
        Ok(reaches) => reaches,
        Err(refusal) => {
            return vec![Finding {
                message: refusal.message,
                problem: Some(refusal.hint),
            }];
        }
    };
    let rows = store.read(|tx| {
        let mut strangers = Vec::new();
        for person in config.notify.people.iter().filter(|_| !reaches.is_empty()) {
            let found = tx.agent(person)?;
            if found.is_none_or(|row| row.kind != AgentKind::Human) {
                strangers.push(person.to_string());
            }
        }
        Ok((tx.now(), tx.reaches()?, strangers))
    });
    let (now, rows, strangers) = rows.unwrap_or((Millis(0), Vec::new(), Vec::new()));
    let named = strangers.into_iter().map(|name| Finding {
        message: format!("{name} is to be told, and is no person on the roster"),
        problem: Some(format!("inbox agent add {name} --kind human")),
    });
    let reaches = reaches.iter().map(|reach| finding(reach, now, &rows));
    reaches.chain(named).collect()
}

fn finding(reach: &Reach, now: Millis, rows: &[(ReachRow, NoticesWaiting)]) -> Finding {
    let (shown, name) = (reach.shown(), reach.name());
    let wrong = |message: String, hint: String| Finding {
        message: format!("{shown}: {message}"),
        problem: Some(hint),
    };
    if let Some((message, hint)) = reach.problem() {
        return wrong(message, hint);
    }
    let mut own = rows.iter().filter(|(row, _)| row.name == name);
    if let Some((row, waiting)) = own.clone().find(|(row, _)| row.problem.is_some()) {
        let problem = row.problem.as_deref().unwrap_or_default();
        let message = format!(
            "it fails for {}, and {} wait: {problem}",
            row.person, waiting.count
        );
        return wrong(message, "inbox notify --test tries it now".to_owned());
    }
    let is_late = |waiting: &NoticesWaiting| {
        waiting
            .due_since
            .is_some_and(|since| since.0 < now.0 - UNSENT)
    };
    if let Some((row, waiting)) = own.find(|(_, waiting)| is_late(waiting)) {
        let message = format!(
            "{} wait for {}, and nobody sends them",
            waiting.count, row.person
        );
        return wrong(message, "inbox up or inbox notify sends them".to_owned());
    }
    Finding {
        message: shown,
        problem: None,
    }
}
