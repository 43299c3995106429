//! Threads: by filter, or by the words in their messages.

use askama::Template;
use inbox_core::{Refusal, Status};
use inbox_ops::{self as ops, Operation, Search};

use super::html::{Html, encoded, line};
use super::mail::{MailLine, ThreadLine};
use super::{Visit, written};

/// How many a page has.
const PAGE: i64 = 50;

struct Choice {
    word: &'static str,
    name: String,
    is_chosen: bool,
}

struct Hit {
    mail: MailLine,
    status: Html,
    subject: String,
}

#[derive(Template)]
#[template(path = "threads.html")]
struct List<'a> {
    query: &'a str,
    agent: &'a str,
    run: &'a str,
    statuses: Vec<Choice>,
    threads: Vec<ThreadLine>,
    hits: Vec<Hit>,
    is_search: bool,
    is_cut: bool,
    more: String,
}

pub(super) fn page(visit: &Visit<'_>) -> Result<(String, Html), Refusal> {
    let fields = visit.fields;
    let mut status: Vec<Status> = Vec::new();
    for word in fields.all("status") {
        status.push(word.parse()?);
    }
    let statuses = Status::ALL.iter().map(|&it| Choice {
        word: it.name(),
        name: it.name().replace('_', " "),
        is_chosen: status.contains(&it),
    });
    let statuses = statuses.collect();
    let query = fields.get("q").unwrap_or_default();
    let limit = fields
        .get("limit")
        .and_then(|text| text.parse().ok())
        .unwrap_or(PAGE)
        .clamp(1, 500);
    let (mut threads, mut hits, mut is_cut) = (Vec::new(), Vec::new(), false);
    if query.trim().is_empty() {
        let list = ops::List {
            status: status.clone(),
            agent: fields.parsed("agent")?,
            run: fields.parsed("run")?,
            limit: Some(limit),
            ..ops::List::default()
        };
        let found = list.run(visit.inbox, visit.caller)?;
        is_cut = found.truncated;
        threads.extend(
            found
                .threads
                .iter()
                .map(|thread| ThreadLine::of(visit, thread)),
        );
    } else {
        let search = Search {
            query: query.to_owned(),
            status,
            agent: fields.parsed("agent")?,
            run: fields.parsed("run")?,
            limit: Some(limit),
            ..Search::default()
        };
        let found = search.run(visit.inbox, visit.caller)?;
        for hit in &found.hits {
            hits.push(Hit {
                mail: MailLine::of(visit, &hit.message),
                status: super::mail::status(hit.thread.status),
                subject: line(&hit.thread.subject),
            });
        }
    }
    let more: Vec<String> = ["q", "agent", "run"]
        .into_iter()
        .filter_map(|name| Some(format!("{name}={}", encoded(fields.get(name)?))))
        .chain(
            fields
                .all("status")
                .map(|word| format!("status={}", encoded(word))),
        )
        .chain([format!("limit={}", (limit * 4).min(500))])
        .collect();
    let main = written(&List {
        query,
        agent: fields.get("agent").unwrap_or_default(),
        run: fields.get("run").unwrap_or_default(),
        statuses,
        threads,
        hits,
        is_search: !query.trim().is_empty(),
        is_cut: is_cut && limit < 500,
        more: more.join("&"),
    })?;
    Ok(("Threads".to_owned(), main))
}
