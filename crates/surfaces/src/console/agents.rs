//! Agents: who is there, what each does, and one of them.

use std::collections::{BTreeMap, BTreeSet};

use askama::Template;
use inbox_core::{Agent, AgentKind, AgentName, EventId, Refusal, SessionState};
use inbox_ops::{AgentList, AgentShow, List, Operation, SessionList, Work};
use serde_json::Value;

use super::html::{Html, ago, encoded, escape, left, line, short};
use super::mail::{self, MailLine, ThreadLine};
use super::size::{Part, clip};
use super::{Visit, payload, written};
use crate::cli::Doors;

/// How many sessions are looked at for their doors.
const LOOKED: usize = 500;

/// How many letters an agent's page has.
const MAIL: i64 = 15;

/// How many agents a page has.
const PAGE: usize = 60;

struct AgentLine {
    key: String,
    name: Html,
    title: String,
    state: Html,
    labels: String,
    clients: String,
    holds: Vec<(Html, Html, Html)>,
    unread: String,
    seen: Option<Html>,
    doors: Html,
}

#[derive(Template)]
#[template(path = "agents.html")]
struct Agents {
    part: Part,
    people: Vec<AgentLine>,
    alive: Vec<AgentLine>,
    others: Vec<AgentLine>,
}

/// A state as a word with a mark.
fn state(state: Option<SessionState>) -> Html {
    let (word, mark) = crate::person::state_mark(state);
    let class = word.replace(' ', "-");
    Html::new(format!(
        "<span class=\"state {class}\"><span aria-hidden=\"true\">{mark}</span> {word}</span>"
    ))
}

fn is_there(state: Option<SessionState>) -> bool {
    matches!(state, Some(SessionState::Alive | SessionState::Frozen))
}

pub(super) fn list(visit: &Visit<'_>) -> Result<(String, Html), Refusal> {
    let mut all = AgentList::default().run(visit.inbox, visit.caller)?.agents;
    // Who is there comes first, then people, then the others.
    all.sort_by_key(|agent| {
        let is_there = is_there(agent.state);
        (!is_there && agent.kind != AgentKind::Human, !is_there)
    });
    let from = visit.fields.from();
    let shown = all.iter().skip(from).take(PAGE);
    let request = AgentList {
        work: true,
        name: shown.map(|agent| agent.agent_id.clone()).collect(),
        ..AgentList::default()
    };
    let part = Part::new(from, request.name.len(), all.len(), PAGE);
    let found = if request.name.is_empty() {
        AgentList::default()
    } else {
        request
    };
    let found = found.run(visit.inbox, visit.caller)?;
    let mut doors: BTreeMap<&AgentName, BTreeSet<String>> = BTreeMap::new();
    let sessions = found.work.iter().flat_map(|work| &work.sessions);
    for session in sessions.take(LOOKED) {
        let own = doors.entry(&session.agent_id).or_default();
        own.extend(Doors::of(session).open);
    }
    let (mut people, mut alive, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for (agent, work) in found.agents.iter().zip(&found.work) {
        let line = AgentLine::of(visit, agent, work, doors.get(&agent.agent_id));
        match agent.kind {
            AgentKind::Human => people.push(line),
            _ if is_there(agent.state) || !work.holds.is_empty() => alive.push(line),
            _ => others.push(line),
        }
    }
    let main = written(&Agents {
        part,
        people,
        alive,
        others,
    })?;
    Ok(("Agents".to_owned(), main))
}

impl AgentLine {
    fn of(visit: &Visit<'_>, agent: &Agent, work: &Work, doors: Option<&BTreeSet<String>>) -> Self {
        let roles = agent.roles.iter().map(|role| format!("role:{role}"));
        let labels: Vec<String> = roles.chain(agent.tags.iter().cloned()).collect();
        let holds = work.holds.iter().take(3).map(|held| {
            (
                mail::subject(&held.thread),
                mail::status(held.thread.status),
                left(held.expires_at, visit.now),
            )
        });
        let name = agent.agent_id.as_str();
        AgentLine {
            key: name.to_owned(),
            name: mail::agent(name),
            title: if agent.name == name {
                String::new()
            } else {
                line(&agent.name)
            },
            state: state(agent.state),
            labels: short(&labels.join(" ")),
            clients: short(&work.clients.join(" ")),
            holds: holds.collect(),
            unread: match work.unread {
                0 => String::new(),
                count if count >= 100 => "99+".to_owned(),
                count => count.to_string(),
            },
            seen: agent.seen_at.map(|seen| ago(seen, visit.now)),
            doors: match doors {
                None => Html::default(),
                Some(open) => door_words(open.iter(), None),
            },
        }
    }
}

/// Doors as words; without any, that nothing wakes it, and why.
fn door_words<'a>(open: impl Iterator<Item = &'a String>, note: Option<&str>) -> Html {
    let open: Vec<String> = open.map(|door| line(&door.replace('_', " "))).collect();
    let note = note.map(|note| escape(&line(note)).into_owned());
    Html::new(match (open.is_empty(), note) {
        (false, None) => escape(&open.join(", ")).into_owned(),
        (false, Some(note)) => format!(
            "{} <span class=\"meta\">{note}</span>",
            escape(&open.join(", "))
        ),
        (true, None) => "<span class=\"nothing\">nothing wakes it</span>".to_owned(),
        (true, Some(note)) => format!("<span class=\"nothing\">nothing: {note}</span>"),
    })
}

struct SessionLine {
    id: String,
    state: Html,
    client: String,
    labels: String,
    started: Html,
    seen: Html,
    doors: Html,
}

#[derive(Template)]
#[template(path = "agent.html")]
struct One {
    name: String,
    title: String,
    kind: String,
    state: Html,
    seen: Option<Html>,
    unread: i64,
    labels: String,
    path: String,
    ledger: Vec<(&'static str, String, bool)>,
    network: String,
    mail: Vec<(MailLine, bool)>,
    earlier: Option<i64>,
    is_person: bool,
    has_card: bool,
    card: Html,
    persona: String,
    holds: Vec<ThreadLine>,
    threads: Vec<ThreadLine>,
    sessions: Vec<SessionLine>,
}

pub(super) fn one(visit: &Visit<'_>, name: &str) -> Result<(String, Html), Refusal> {
    let slug: AgentName = name.parse()?;
    let found = AgentShow { slug: slug.clone() }.run(visit.inbox, visit.caller)?;
    let sessions = SessionList {
        agent: Some(slug.clone()),
        state: vec![
            SessionState::Alive,
            SessionState::Frozen,
            SessionState::Dead,
        ],
    };
    let sessions = sessions.run(visit.inbox, visit.caller)?.sessions;
    let list = List {
        agent: Some(slug.clone()),
        limit: Some(30),
        ..List::default()
    };
    let threads = list.run(visit.inbox, visit.caller)?.threads;
    let agent = found.agent;
    let roles = agent.roles.iter().map(|role| format!("role:{role}"));
    let labels: Vec<String> = roles.chain(agent.tags.iter().cloned()).collect();
    let ledger = [
        ("Account", agent.account_id, false),
        ("Inbound topic", agent.inbound_topic_id, true),
        ("Outbound topic", agent.outbound_topic_id, true),
    ];
    let before = visit
        .fields
        .get("before")
        .and_then(|text| text.parse().ok());
    let received = visit.inbox.received(&slug, before.map(EventId), MAIL)?;
    let mail = received.messages.iter();
    let network = visit.inbox.config().ledger.network.as_deref();
    let main = written(&One {
        name: slug.to_string(),
        title: line(&agent.name),
        kind: agent.kind.to_string(),
        state: state(agent.state),
        seen: agent.seen_at.map(|seen| ago(seen, visit.now)),
        unread: found.unread.unwrap_or_default(),
        labels: line(&labels.join(" ")),
        ledger: ledger
            .into_iter()
            .filter_map(|(what, id, is_topic)| Some((what, id?, is_topic)))
            .collect(),
        path: encoded(slug.as_str()),
        network: network.map(line).unwrap_or_default(),
        mail: mail
            .map(|(message, is_unread)| (MailLine::of(visit, message), *is_unread))
            .collect(),
        earlier: received.before.map(|event| event.0),
        is_person: agent.kind == AgentKind::Human,
        has_card: agent.card.is_some(),
        card: payload::sections(agent.card.as_ref().unwrap_or(&Value::Null)).0,
        persona: clip(&agent.persona.unwrap_or_default(), 3_000).into_owned(),
        holds: found
            .holds
            .iter()
            .flatten()
            .take(30)
            .map(|thread| ThreadLine::of(visit, thread))
            .collect(),
        threads: threads
            .iter()
            .map(|thread| ThreadLine::of(visit, thread))
            .collect(),
        sessions: sessions
            .iter()
            .rev()
            .take(20)
            .map(|session| {
                let roles = session.roles.iter().map(|role| format!("role:{role}"));
                let labels: Vec<String> = roles.chain(session.tags.iter().cloned()).collect();
                SessionLine {
                    id: line(session.session_id.as_str()),
                    state: state(Some(session.state)),
                    client: line(session.client.as_deref().unwrap_or_default()),
                    labels: line(&labels.join(" ")),
                    started: ago(session.started_at, visit.now),
                    seen: ago(session.seen_at, visit.now),
                    doors: if session.state == SessionState::Dead {
                        Html::default()
                    } else {
                        let doors = Doors::of(session);
                        door_words(doors.open.iter(), doors.note.as_deref())
                    },
                }
            })
            .collect(),
    })?;
    Ok((slug.to_string(), main))
}
