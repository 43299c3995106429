//! `bridge status`: the topics and how far they were read, what waits for each, and which messages do not go and why.

use inbox_core::Refusal;
use inbox_ops::ledger::Standing;
use inbox_ops::{Cell, Inbox, Page};
use inbox_store::{RecordState, Stuck, TopicBacklog, TopicRow};
use serde_json::{Map, Value, json};

use crate::cli::{Context, Ended};

/// How many messages that do not go are named, and how many with `--all`.
const SOME: i64 = 10;
const MOST: i64 = 10_000;

pub(super) fn show(inbox: &Inbox, is_all: bool, context: &Context) -> Result<Ended, Refusal> {
    let standing = inbox.ledger_standing()?;
    let backlogs = inbox.backlogs()?;
    let stuck = inbox.stuck(if is_all { MOST } else { SOME })?;
    if context.printer.is_json() {
        let body = body(inbox, &standing, &backlogs, &stuck);
        context.printer.object("bridge status", true, &body)?;
    } else {
        context.printer.page(&page(&standing, &backlogs, &stuck))?;
    }
    Ok(Ended::Something)
}

fn waiting<'b>(backlogs: &'b [TopicBacklog], topic: &TopicRow) -> Option<&'b TopicBacklog> {
    backlogs
        .iter()
        .find(|backlog| backlog.topic_no == topic.topic_no)
}

fn body(inbox: &Inbox, standing: &Standing, backlogs: &[TopicBacklog], stuck: &[Stuck]) -> Value {
    let topics: Vec<Value> = standing
        .topics
        .iter()
        .map(|topic| {
            let waiting = waiting(backlogs, topic);
            json!({
                "topic_id": topic.topic,
                "place": topic.place.name(),
                "name": topic.name,
                "sequence_number": topic.sequence,
                "running_hash": topic.hash,
                "backlog": {
                    "messages": waiting.map_or(0, |waiting| waiting.count),
                    "since": waiting.and_then(|waiting| waiting.since),
                    "problems": waiting.map_or(0, |waiting| waiting.problems),
                },
                "problem": topic.problem,
            })
        })
        .collect();
    let problems: Vec<Value> = stuck
        .iter()
        .map(|one| {
            json!({
                "message_id": one.message,
                "from_agent": one.agent,
                "topic_id": one.topic.topic,
                "place": one.topic.place.name(),
                "name": one.topic.name,
                "tries": one.tries,
                "next_try": one.next_at,
                "problem": one.problem,
            })
        })
        .collect();
    let mut records = Map::new();
    for state in RecordState::ALL {
        let found = standing.records.iter().find(|(found, _)| *found == state);
        let count = found.map_or(0, |(_, count)| *count);
        records.insert(state.name().to_owned(), json!(count));
    }
    let backlog = standing.backlog;
    json!({
        "network": inbox.config().ledger.network,
        "backlog": { "messages": backlog.count, "since": backlog.since, "problems": backlog.problems },
        "topics": topics,
        "problems": problems,
        "records": records,
        "flooded": standing.floods,
    })
}

fn page(standing: &Standing, backlogs: &[TopicBacklog], stuck: &[Stuck]) -> Page {
    let backlog = standing.backlog;
    let mut page = Page::default().line(match backlog.count {
        0 => "nothing waits for the ledger".to_owned(),
        count => format!(
            "{count} wait for the ledger, {} with a problem",
            backlog.problems
        ),
    });
    let rows: Vec<Vec<Cell>> = standing
        .topics
        .iter()
        .map(|topic| {
            let waiting = waiting(backlogs, topic).map_or(0, |waiting| waiting.count);
            [
                topic.topic.clone().unwrap_or_else(|| "not made".to_owned()),
                topic.place.name().to_owned(),
                topic.name.clone(),
                topic.sequence.to_string(),
                waiting.to_string(),
                topic.problem.clone().unwrap_or_default(),
            ]
            .map(Cell::Text)
            .to_vec()
        })
        .collect();
    if !rows.is_empty() {
        let headings = vec!["TOPIC", "PLACE", "OF", "TAKEN IN", "WAIT", "PROBLEM"];
        page = page.table(headings, rows);
    }
    for one in stuck {
        let place = one.topic.topic.as_deref().unwrap_or(&one.topic.name);
        page = page
            .line(format!(
                "{} from {} to {place}, tried {} times, next at {}",
                one.message, one.agent, one.tries, one.next_at
            ))
            .line(format!("  {}", one.problem));
    }
    let shown = i64::try_from(stuck.len()).unwrap_or(i64::MAX);
    if shown < backlog.problems {
        page = page.line(format!(
            "{} more do not go; inbox bridge status --all names them",
            backlog.problems - shown
        ));
    }
    for (state, count) in &standing.records {
        page = page.line(format!("{count} {}", state.name()));
    }
    if standing.floods > 0 {
        page = page.line(format!(
            "{} more counted and not kept, of payers who write too many or where too many write",
            standing.floods
        ));
    }
    page
}
