//! Threads: by filter, or by the words in their messages.

use askama::Template;
use inbox_core::record::Millis;
use inbox_core::{Refusal, Status};
use inbox_ops::{self as ops, Operation, Search, SearchHit};

use super::html::{Html, encoded, short};
use super::mail::{MailLine, ThreadLine};
use super::{Visit, written};

/// How many a page has.
const PAGE: i64 = 40;

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
    newest: Option<String>,
    older: Option<String>,
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
    let (mut threads, mut hits) = (Vec::new(), Vec::new());
    let older;
    if query.trim().is_empty() {
        let list = ops::List {
            status: status.clone(),
            agent: fields.parsed("agent")?,
            run: fields.parsed("run")?,
            limit: Some(PAGE),
            before_thread: fields.parsed("before")?,
            ..ops::List::default()
        };
        let found = list.run(visit.inbox, visit.caller)?;
        let last = found.threads.last().filter(|_| found.truncated);
        older = last.map(|last| format!("before={}", last.thread_id));
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
            limit: Some(PAGE),
            until: fields.parsed("until")?,
            ..Search::default()
        };
        let found = search.run(visit.inbox, visit.caller)?;
        older = next(&found.hits);
        for hit in &found.hits {
            hits.push(Hit {
                mail: MailLine::of(visit, &hit.message),
                status: super::mail::status(hit.thread.status),
                subject: short(&hit.thread.subject),
            });
        }
    }
    let filters: Vec<String> = ["q", "agent", "run"]
        .into_iter()
        .filter_map(|name| Some(format!("{name}={}", encoded(fields.get(name)?))))
        .chain(
            fields
                .all("status")
                .map(|word| format!("status={}", encoded(word))),
        )
        .collect();
    let filters = filters.join("&");
    let is_first = fields.get("before").is_none() && fields.get("until").is_none();
    let main = written(&List {
        query,
        agent: fields.get("agent").unwrap_or_default(),
        run: fields.get("run").unwrap_or_default(),
        statuses,
        threads,
        hits,
        is_search: !query.trim().is_empty(),
        newest: (!is_first).then(|| filters.clone()),
        older: older.map(|place| format!("{filters}&{place}")),
    })?;
    Ok(("Threads".to_owned(), main))
}

/// Where the search goes on: before the last that was found. Others of its moment are shown again rather than passed over.
fn next(hits: &[SearchHit]) -> Option<String> {
    let (first, last) = (hits.first()?, hits.last()?);
    let is_page = hits.len() >= usize::try_from(PAGE).unwrap_or(usize::MAX);
    let (newest, oldest) = (first.message.created_at, last.message.created_at);
    let until = if newest == oldest {
        oldest
    } else {
        Millis(oldest.0 + 1)
    };
    is_page.then(|| format!("until={}", encoded(&until.to_string())))
}
