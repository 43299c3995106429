//! What a house needs looking after: letters that reached nobody, the ledger behind the store, and the store itself.

use askama::Template;
use inbox_core::Refusal;
use inbox_ops::ledger::Check;
use inbox_ops::{DeadLetters, Operation};
use inbox_store::RecordState;

use super::html::{Html, ago, line, short};
use super::mail::MailLine;
use super::size::Part;
use super::{Visit, written};

/// How many letters a page has, and behind how many none is shown.
const PAGE: usize = 30;
const MOST_DEAD: usize = 10_000;

/// How many topics are shown.
const TOPICS: usize = 300;

struct Letter {
    mail: Option<MailLine>,
    why: String,
    since: Html,
    refused: String,
}

#[derive(Template)]
#[template(path = "dead.html")]
struct Dead<'a> {
    letters: Vec<Letter>,
    part: Part,
    guard: &'a str,
}

pub(super) fn dead(visit: &Visit<'_>) -> Result<(String, Html), Refusal> {
    let from = visit.fields.from().min(MOST_DEAD - PAGE - 1);
    let request = DeadLetters {
        limit: i64::try_from(from + PAGE + 1).ok(),
    };
    let found = request.run(visit.inbox, visit.caller)?;
    let shown = found.letters.iter().skip(from).take(PAGE);
    let letters = shown.map(|letter| Letter {
        mail: letter
            .message
            .as_ref()
            .map(|message| MailLine::of(visit, message)),
        why: line(&letter.explanation),
        since: ago(letter.since, visit.now),
        refused: letter
            .refused
            .as_ref()
            .map(|row| line(&row.to_string()))
            .unwrap_or_default(),
    });
    let letters: Vec<_> = letters.collect();
    let main = written(&Dead {
        part: Part::new(from, letters.len(), found.letters.len(), PAGE),
        letters,
        guard: visit.guard,
    })?;
    Ok(("Dead letters".to_owned(), main))
}

struct TopicLine {
    topic: String,
    place: &'static str,
    name: String,
    sequence: i64,
    problem: String,
}

#[derive(Template)]
#[template(path = "ledger.html")]
struct Ledger<'a> {
    network: Option<String>,
    waiting: i64,
    since: Option<Html>,
    problems: i64,
    topics: Vec<TopicLine>,
    more: usize,
    records: Vec<(&'static str, i64)>,
    check: Option<Checked>,
    guard: &'a str,
}

/// What the last comparison of the store with its topics found.
struct Checked {
    begun: Html,
    is_over: bool,
    check: Check,
    named: Vec<(Option<String>, String)>,
}

impl Checked {
    fn of(visit: &Visit<'_>, check: Check) -> Self {
        let mut named = Vec::new();
        for found in &check.named {
            // A message that is gone leads nowhere.
            let thread = found.message.and_then(|id| visit.inbox.kept_as(id).ok());
            let place = thread.map(|kept| {
                let message = &kept.message;
                format!("/threads/{}#{}", message.thread_id, message.message_id)
            });
            named.push((place, line(&found.what)));
        }
        Checked {
            begun: ago(check.begun_at, visit.now),
            is_over: check.ended_at.is_some(),
            named,
            check,
        }
    }
}

/// The name of the network that the record lives on. One that a file describes is called by it.
pub(super) fn network(visit: &Visit<'_>) -> Option<String> {
    let named = visit.inbox.config().ledger.network.as_ref()?;
    let path = std::path::Path::new(named);
    let stem = path.file_stem().and_then(|stem| stem.to_str());
    Some(line(stem.unwrap_or(named)))
}

pub(super) fn ledger(visit: &Visit<'_>) -> Result<(String, Html), Refusal> {
    let standing = visit.inbox.ledger_standing()?;
    let counted = |state: &RecordState| {
        let found = standing.records.iter().find(|(other, _)| other == state);
        found.map_or(0, |(_, count)| *count)
    };
    let check = visit.inbox.last_check()?;
    let check = check.map(|check| Checked::of(visit, check));
    let main = written(&Ledger {
        check,
        guard: visit.guard,
        network: network(visit),
        waiting: standing.backlog.count,
        since: standing.backlog.since.map(|since| ago(since, visit.now)),
        problems: standing.backlog.problems,
        records: RecordState::ALL
            .iter()
            .map(|state| (state.name(), counted(state)))
            .collect(),
        more: standing.topics.len().saturating_sub(TOPICS),
        topics: standing
            .topics
            .iter()
            .take(TOPICS)
            .map(|topic| TopicLine {
                topic: topic.topic.clone().unwrap_or_default(),
                place: topic.place.name(),
                name: line(&topic.name),
                sequence: topic.sequence,
                problem: short(topic.problem.as_deref().unwrap_or_default()),
            })
            .collect(),
    })?;
    Ok(("Ledger".to_owned(), main))
}

#[derive(Template)]
#[template(path = "store.html")]
struct House {
    checks: Vec<[String; 4]>,
    is_whole: bool,
}

pub(super) fn store(visit: &Visit<'_>) -> Result<(String, Html), Refusal> {
    let is_whole = visit.fields.get("check").is_some();
    let checks = crate::cli::health(visit.inbox.store(), is_whole);
    let main = written(&House { checks, is_whole })?;
    Ok(("Store".to_owned(), main))
}
