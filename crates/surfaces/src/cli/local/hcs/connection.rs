//! `inbox hcs connect`, `accept`, `refuse`, `say`, `read`, `close`, `connections`.

use clap::{Arg, ArgAction, Command};
use inbox_bridge::agent::{Line, What};
use inbox_bridge::{Agent, Overview, Reached};
use inbox_core::Refusal;
use inbox_hcs::{CloseMethod, Connection, ConnectionState, Content, Mime, Role};
use inbox_ops::{Cell, Page};
use serde_json::{Value, json};

use super::ground::Ground;
use super::topic::body;
use super::{max_fee, option, show as shown, word};
use crate::cli::Ended;

pub(super) fn commands() -> Vec<Command> {
    let request = || {
        word(
            "request",
            "REQUEST",
            "The request's number, as inbox hcs connections shows it",
        )
    };
    let connection = || word("connection", "CONNECTION", "The connection's topic");
    vec![
        Command::new("connect")
            .about("Ask another agent for a connection")
            .arg(word("other", "NAME|ACCOUNT", "Who is asked"))
            .arg(option("memo", "TEXT", "A remark"))
            .arg(max_fee()),
        Command::new("accept")
            .about("Accept a request, and make the topic of the connection")
            .arg(request())
            .arg(
                option("with", "NAME|ACCOUNT", "Let another write there too; repeats")
                    .action(ArgAction::Append),
            )
            .arg(option("fee", "HBAR", "Take so much from the others for each message"))
            .arg(option("memo", "TEXT", "A remark")),
        Command::new("refuse")
            .about("Refuse a request, and tell the other")
            .arg(request())
            .arg(option("reason", "TEXT", "Why").default_value("refused"))
            .arg(max_fee()),
        Command::new("say")
            .about("Say something on a connection; what is large goes into a file")
            .arg(connection())
            .arg(Arg::new("text").value_name("TEXT").help("What to say"))
            .arg(option("file", "FILE", "Say what is in it; - for standard input"))
            .arg(option("memo", "TEXT", "A remark"))
            .arg(max_fee()),
        Command::new("read")
            .about("Read what was said on a connection, with what lies in files")
            .arg(connection())
            .arg(option("after", "NUMBER", "Only what comes after this message")),
        Command::new("close")
            .about("End a connection")
            .arg(connection())
            .arg(option("reason", "TEXT", "Why"))
            .arg(
                option("method", "HOW", "explicit says so; submit_key also leaves the agent alone able to write, admin_key to change the topic")
                    .value_parser(["explicit", "submit_key", "admin_key"])
                    .default_value("explicit"),
            )
            .arg(max_fee()),
        Command::new("connections")
            .about("List the agent's connections and requests")
            .arg(
                Arg::new("all")
                    .long("all")
                    .action(ArgAction::SetTrue)
                    .help("Also what was refused or dismissed here"),
            ),
    ]
}

pub(super) fn connect(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let other = ground.account(&ground.must("other"))?;
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let agent = ground.agent(&net, &actor)?;
    let asked = agent.connect(other, ground.text("memo"))?;
    let (other, request) = (asked.other, asked.request);
    let page = Page::default().line(format!("{} was asked, by request {request}", other.account));
    let body = json!({
        "request_id": request.get(),
        "other": other.account.to_string(),
        "inbound_topic_id": other.inbound_topic.to_string(),
    });
    ground.done(&net, &body, &page)
}

pub(super) fn accept(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let request = ground.must_sequence("request")?;
    let guests = ground.matches.get_many::<String>("with");
    let guests: Result<Vec<_>, Refusal> = guests
        .into_iter()
        .flatten()
        .map(|who| ground.account(who))
        .collect();
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let agent = Agent::new(&net, ground.participant(&actor)?);
    let accepted = agent.accept(request, &guests?, ground.hbar("fee")?, ground.text("memo"))?;
    let other = accepted.other.account;
    let page = Page::default().line(format!("{}  connection with {other}", accepted.topic));
    let body = json!({
        "request_id": request.get(),
        "topic_id": accepted.topic.to_string(),
        "other": other.to_string(),
    });
    ground.done(&net, &body, &page)
}

pub(super) fn refuse(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let request = ground.must_sequence("request")?;
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let agent = ground.agent(&net, &actor)?;
    let other = agent.refuse(request, &ground.must("reason"))?;
    ground.hide(&actor, format!("request {request}"))?;
    let page = Page::default().line(format!("{} was refused, and told so", other.account));
    let body = json!({ "request_id": request.get(), "other": other.account.to_string() });
    ground.done(&net, &body, &page)
}

pub(super) fn say(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let topic = ground.topic("connection")?;
    let text = body(ground)?;
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let agent = ground.agent(&net, &actor)?;
    let mime: Mime = "text/plain"
        .parse()
        .map_err(|error: inbox_hcs::Refused| Refusal::input(error.to_string()))?;
    let (sequence, file) = agent.say(topic, text.as_bytes(), &mime, ground.text("memo"))?;
    let place = file.map(|file| format!("  in hcs://1/{file}"));
    let page = Page::default().line(format!("{topic}  {sequence}{}", place.unwrap_or_default()));
    let body = json!({
        "topic_id": topic.to_string(),
        "sequence_number": sequence.get(),
        "file_topic_id": file.map(|file| file.to_string()),
    });
    ground.done(&net, &body, &page)
}

pub(super) fn read(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let topic = ground.topic("connection")?;
    let after = ground.sequence("after")?;
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let agent = Agent::new(&net, ground.participant(&actor)?);
    let lines = agent.read(topic, after)?;
    let mut page = Page::default();
    for line in &lines {
        let doubt = if line.is_verified { "" } else { " unverified" };
        page = page
            .line(format!(
                "{} {}{doubt} {}",
                line.sequence,
                line.payer,
                line_kind(line)
            ))
            .text(line_text(line));
    }
    if lines.is_empty() {
        page = page.line("nothing was said".to_owned());
    }
    let messages: Vec<Value> = lines.iter().map(line_value).collect();
    let body = json!({ "topic_id": topic.to_string(), "messages": messages });
    ground.answer(&body, &page)
}

fn line_kind(line: &Line) -> &'static str {
    match &line.what {
        What::Message(..) => "message",
        What::Proposal(..) => "transaction",
        What::Close(_) => "close_connection",
        What::Unreadable(_) => "unreadable",
    }
}

fn line_text(line: &Line) -> String {
    match &line.what {
        What::Message(Ok(Content::Inline(text)), _) => text.clone(),
        What::Message(Ok(Content::File(bytes)), _) => String::from_utf8_lossy(bytes).into_owned(),
        What::Message(Err(why), place) => match place {
            Some(topic) => format!("(the file on {topic} cannot be had: {why})"),
            None => format!("({why})"),
        },
        What::Proposal(schedule, said) => format!("schedule {schedule}: {said}"),
        What::Close(reason) => reason.clone().unwrap_or_default(),
        What::Unreadable(why) => format!("({why})"),
    }
}

fn line_value(line: &Line) -> Value {
    let (text, error, file, schedule) = match &line.what {
        What::Message(Ok(_), file) => (Some(line_text(line)), None, *file, None),
        What::Message(Err(why), file) => (None, Some(why.clone()), *file, None),
        What::Proposal(schedule, said) => (Some(said.clone()), None, None, Some(*schedule)),
        What::Close(reason) => (reason.clone(), None, None, None),
        What::Unreadable(why) => (None, Some(why.clone()), None, None),
    };
    json!({
        "sequence_number": line.sequence.get(),
        "consensus_timestamp": line.time.to_string(),
        "payer_account_id": line.payer.to_string(),
        "verified": line.is_verified,
        "kind": line_kind(line),
        "text": text,
        "error": error,
        "file_topic_id": file.map(|file| file.to_string()),
        "schedule_id": schedule.map(|schedule| schedule.to_string()),
        "deviations": shown::deviations(&line.deviations),
    })
}

pub(super) fn close(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let topic = ground.topic("connection")?;
    let method = ground.must("method");
    let method = CloseMethod::ALL
        .into_iter()
        .find(|known| known.name() == method)
        .unwrap_or(CloseMethod::Explicit);
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let agent = ground.agent(&net, &actor)?;
    agent.close(topic, ground.text("reason"), method)?;
    let page = Page::default().line(format!("{topic} is closed"));
    let body = json!({ "topic_id": topic.to_string(), "close_method": method.name() });
    ground.done(&net, &body, &page)
}

pub(super) fn list(ground: &Ground<'_>) -> Result<Ended, Refusal> {
    let actor = ground.actor()?;
    let net = ground.own_net(&actor)?;
    let me = ground.participant(&actor)?;
    let agent = Agent::new(&net, me);
    let overview = agent.look(Reached::All)?;
    let hidden = &actor.holder.hidden;
    let is_hidden = |connection: &Connection| {
        connection.key.inbound_topic == me.inbound_topic
            && connection.topic().is_none()
            && hidden.contains(&format!("request {}", connection.key.request))
    };
    let mut rows = Vec::new();
    let mut list = Vec::new();
    for connection in overview.connections.iter() {
        if is_hidden(connection) && !ground.is_set("all") {
            continue;
        }
        let state = state(&overview, connection, is_hidden(connection));
        let topic = connection.topic().map(|id| id.to_string());
        let other = connection.other.map(|id| id.to_string());
        rows.push(
            [
                connection.key.request.to_string(),
                role(connection.role).to_owned(),
                other.clone().unwrap_or_default(),
                state.to_owned(),
                topic.clone().unwrap_or_default(),
            ]
            .map(Cell::Text)
            .to_vec(),
        );
        list.push(json!({
            "request_id": connection.key.request.get(),
            "inbound_topic_id": connection.key.inbound_topic.to_string(),
            "role": role(connection.role),
            "other": other,
            "state": state,
            "topic_id": topic,
            "reason": overview.reason(connection.key),
            "deviations": shown::deviations(&connection.deviations),
        }));
    }
    let page = if rows.is_empty() {
        Page::default().line("no connections; inbox hcs connect ACCOUNT asks for one".to_owned())
    } else {
        Page::default().table(
            vec!["REQUEST", "ROLE", "OTHER", "STATE", "CONNECTION"],
            rows,
        )
    };
    ground.answer(&json!({ "connections": list }), &page)
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Requester => "requester",
        Role::Responder => "responder",
    }
}

fn state(overview: &Overview, connection: &Connection, is_hidden: bool) -> &'static str {
    match connection.state {
        ConnectionState::Requested if is_hidden || overview.is_refused(connection.key) => "refused",
        ConnectionState::Requested => "requested",
        ConnectionState::Created(_) => "created",
        ConnectionState::Closed(..) => "closed",
    }
}
