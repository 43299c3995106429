//! Routes: who hears of what, by configuration.
//!
//! A notice is a message of inbox itself in the thread that it is about, so that whoever answers it answers
//! the worker. A route that cannot be followed is reported and holds nobody up.

use std::borrow::Cow;

use inbox_core::lifecycle::Command;
use inbox_core::{Address, AgentKind, AgentName, Auth, Kind, Message, Priority, RefType};
use inbox_store::{Abort, NewMessage, ThreadRow, Tx};
use inbox_wire::{BlockerType, EscalationRule, Via};
use serde_json::{Value, json};

use crate::call::Caller;
use crate::config::{Config, Route};
use crate::deliver;
use crate::step::take;

/// Who was told, and what could not be done.
#[derive(Debug, Default)]
pub(crate) struct Told {
    pub(crate) addresses: Vec<Address>,
    pub(crate) warnings: Vec<String>,
}

/// The events that a step is, by the names that routes have for them; none for most steps.
pub(crate) fn events(command: Command, row: &ThreadRow, payload: &Value) -> Vec<String> {
    let sort = row.thread.ref_type.unwrap_or(RefType::Task);
    match command {
        Command::Finish => vec![format!("{sort}.complete")],
        Command::Fail => vec![format!("{sort}.failed")],
        Command::Block => {
            let mut events = Vec::new();
            if let Some(blocker) = blocker_type(payload) {
                events.push(blocker.to_owned());
                events.push(format!("blocker.{blocker}"));
            }
            events.push(format!("{sort}.blocked"));
            if sort != RefType::Task {
                events.push("task.blocked".to_owned());
            }
            events
        }
        _ => Vec::new(),
    }
}

/// The sort of obstacle that a payload names: in a `blocked` Wire, or by itself.
fn blocker_type(payload: &Value) -> Option<&str> {
    let named = payload.pointer("/payload/blocker_type");
    named.or_else(|| payload.get("blocker_type"))?.as_str()
}

/// Whether a route is for an event. A star stands for one of its words.
pub(crate) fn is_for(on: &str, event: &str) -> bool {
    match (on.split_once('.'), event.split_once('.')) {
        (Some((on_what, on_how)), Some((what, how))) => {
            (on_what == "*" || on_what == what) && (on_how == "*" || on_how == how)
        }
        _ => on == event,
    }
}

impl Route {
    /// Whether it is on something that happens. Another word is a mistake in writing, and would be silent.
    pub fn is_known(&self) -> bool {
        let is_blocker = |word: &str| word.parse::<BlockerType>().is_ok();
        match self.on.split_once('.') {
            Some(("blocker", blocker)) => blocker == "*" || is_blocker(blocker),
            Some((sort, what)) => {
                (sort == "*" || sort.parse::<RefType>().is_ok())
                    && ["*", "blocked", "complete", "failed", "note"].contains(&what)
            }
            None => is_blocker(&self.on),
        }
    }
}

/// The routes for a step of an agent: those of the configuration, and for a question those of the agent's card.
pub(crate) fn routes<'a>(
    tx: &mut Tx<'_>,
    config: &'a Config,
    command: Command,
    agent: &AgentName,
    message: &NewMessage,
) -> Result<Cow<'a, [Route]>, Abort> {
    let own = match command {
        Command::Block => by_card(tx, agent, message)?,
        _ => None,
    };
    Ok(match own {
        Some(own) => config.routes.iter().cloned().chain([own]).collect(),
        None => Cow::Borrowed(&config.routes),
    })
}

/// Where the card of an agent sends its questions: by the rules whose trigger the question names, else by all that
/// block the task.
fn by_card(
    tx: &mut Tx<'_>,
    agent: &AgentName,
    message: &NewMessage,
) -> Result<Option<Route>, Abort> {
    let details = tx.agents(Some(agent))?.into_iter().next();
    let card = details.and_then(|details| details.agent.card);
    let Some(Ok(card)) = card.as_ref().map(inbox_wire::parse_card) else {
        return Ok(None);
    };
    let said = format!("{} {}", message.summary, message.body).to_lowercase();
    let rules = &card.escalation_rules;
    let is_named = |rule: &&EscalationRule| said.contains(&rule.trigger.to_lowercase());
    let mut chosen: Vec<&EscalationRule> = rules.iter().filter(is_named).collect();
    if chosen.is_empty() {
        let is_blocking = |rule: &&EscalationRule| rule.via == Via::TaskBlocked;
        chosen = rules.iter().filter(is_blocking).collect();
    }
    let to: Vec<Address> = chosen
        .iter()
        .filter_map(|rule| match rule.route_to.strip_prefix("roles.") {
            Some(role) => format!("role:{role}").parse().ok(),
            None if rule.route_to == "exec" => "human".parse().ok(),
            None => rule.route_to.parse().ok(),
        })
        .collect();
    Ok((!to.is_empty()).then(|| Route {
        on: "task.blocked".to_owned(),
        to,
        priority: None,
    }))
}

/// Tells those whom routes name of an event in a thread.
pub(crate) fn follow(
    tx: &mut Tx<'_>,
    config: &Config,
    routes: &[Route],
    events: &[String],
    row: ThreadRow,
    message: &Message,
) -> Result<(ThreadRow, Told), Abort> {
    let mut told = Told::default();
    let mut row = row;
    let mut knows: Vec<Address> = message.to.clone();
    knows.push(Address::from(&message.from_agent));
    for (to, event, priority) in wanted(routes, events, row.thread.priority) {
        let mut notice = notice(event, &row, message);
        notice.to = vec![to.clone()];
        notice.priority = Some(priority);
        match deliver::address(tx, config, &mut notice, None) {
            Ok(_) => {}
            Err(Abort::Refused(refusal)) => {
                told.warnings
                    .push(format!("{to} was not told of {event}: {refusal}"));
                continue;
            }
            Err(abort) => return Err(abort),
        }
        // A bare name may be another word for somebody who knows already.
        if notice.to.iter().any(|address| knows.contains(address)) {
            continue;
        }
        knows.extend(notice.to.iter().cloned());
        told.addresses.extend(notice.to.iter().cloned());
        row = say(tx, config, row, notice)?;
    }
    Ok((row, told))
}

/// Whom routes name for these events, each once, by the most urgent of the routes that name it.
fn wanted<'a>(
    routes: &'a [Route],
    events: &'a [String],
    usual: Priority,
) -> Vec<(&'a Address, &'a String, Priority)> {
    let mut found: Vec<(&Address, &String, Priority)> = Vec::new();
    for event in events {
        for route in routes.iter().filter(|route| is_for(&route.on, event)) {
            let priority = route.priority.unwrap_or(usual);
            for to in &route.to {
                match found.iter_mut().find(|(other, ..)| *other == to) {
                    Some(known) => known.2 = known.2.min(priority),
                    None => found.push((to, event, priority)),
                }
            }
        }
    }
    found
}

fn say(
    tx: &mut Tx<'_>,
    config: &Config,
    row: ThreadRow,
    notice: NewMessage,
) -> Result<ThreadRow, Abort> {
    let system = AgentName::system();
    tx.ensure_agent_of(&system, AgentKind::System)?;
    let caller = Caller::local(Some(system.clone()));
    let command = Command::Append(Kind::Event);
    Ok(take(tx, config, &caller, &system, row, command, Some(notice))?.row)
}

fn notice(event: &str, row: &ThreadRow, message: &Message) -> NewMessage {
    let what = event.rsplit('.').next().unwrap_or(event);
    let mut notice = NewMessage::saying(
        Kind::Event,
        format!("{} {what}: {}", message.from_agent, message.summary),
        Auth::Local,
    );
    notice.body.clone_from(&message.body);
    notice.message_type = Some(event.to_owned());
    notice.parent = Some(message.message_id);
    notice.payload_json = json!({
        "event": event,
        "thread_id": row.thread.thread_id,
        "message_id": message.message_id,
        "subject": row.thread.subject,
    });
    notice
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_one_word_of_an_event() {
        assert!(is_for("*.note", "task.note") && is_for("task.*", "task.blocked"));
        assert!(is_for("task.blocked", "task.blocked") && is_for("spec_gap", "spec_gap"));
        assert!(!is_for("*.note", "task.blocked") && !is_for("note", "task.note"));
        assert!(!is_for("*", "spec_gap"));
    }

    #[test]
    fn every_blocker_type_and_every_event_of_an_entity_is_known_and_nothing_else() {
        let is_known = |on: String| {
            let (to, priority) = (Vec::new(), None);
            Route { on, to, priority }.is_known()
        };
        for blocker in BlockerType::ALL {
            assert!(is_known(blocker.to_string()) && is_known(format!("blocker.{blocker}")));
        }
        for sort in RefType::ALL {
            for what in ["blocked", "complete", "failed", "note"] {
                assert!(is_known(format!("{sort}.{what}")));
            }
        }
        assert!(is_known("*.note".to_owned()) && is_known("blocker.*".to_owned()));
        for on in ["", "x", "task.blokced", "thing.note", "blocker.x", "task"] {
            assert!(!is_known(on.to_owned()), "{on}");
        }
    }
}
