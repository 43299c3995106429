//! Mail to those outside: over which connection it goes.

use inbox_core::{Address, AgentName, Code, Mode, Refusal, ThreadId};
use inbox_store::{Abort, ConnectionState, NewMessage, Passage, TopicPlace, Tx};

use super::connect::{name_of, shown};
use crate::config::Config;

/// Says over which connection a message goes to those outside that it is for.
pub(crate) fn over(
    tx: &mut Tx<'_>,
    config: &Config,
    sender: &AgentName,
    id: Option<ThreadId>,
    message: &mut NewMessage,
) -> Result<(), Abort> {
    if config.ledger.network.is_none() {
        return Ok(());
    }
    for index in 0..message.to.len() {
        let Some(account) = account_of(&message.to[index]) else {
            continue;
        };
        if message.to[index].mode() == Mode::Ledger && name_of(tx, &account)?.account().is_none() {
            // An agent of this store by its account: it has an inbox here.
            continue;
        }
        let topic = way(tx, sender, id, &account)?;
        if message.passages.iter().all(|passage| passage.name != topic) {
            message.passages.push(Passage {
                address: index,
                place: TopicPlace::Connection,
                name: topic.clone(),
                topic: Some(topic),
                is_held: false,
            });
        }
    }
    Ok(())
}

/// The account outside that an address is.
fn account_of(address: &Address) -> Option<String> {
    match address.mode() {
        Mode::Agent => address.bare_name()?.account().map(str::to_owned),
        Mode::Ledger => {
            let text = address.as_str();
            Some(text.rsplit('@').next().unwrap_or(text).to_owned())
        }
        _ => None,
    }
}

/// The topic by which an agent talks with an account: that of the thread, or else of their connection.
fn way(
    tx: &mut Tx<'_>,
    sender: &AgentName,
    id: Option<ThreadId>,
    account: &str,
) -> Result<String, Abort> {
    let mut known = match id {
        Some(id) => tx.connections_of_thread(id)?,
        None => Vec::new(),
    };
    known.retain(|row| row.thread == id && row.agent == *sender);
    if known.is_empty() {
        known = tx.connections_with(sender.as_str(), account)?;
    }
    let open = known.iter().rfind(|row| row.state == ConnectionState::Open);
    if let Some(topic) = open.and_then(|row| row.topic.clone()) {
        return Ok(topic);
    }
    let hint = format!("inbox hcs connect {account} --agent {sender} asks for a connection");
    Err(match known.last() {
        Some(row) if row.topic.is_some() && row.state.is_over() => {
            let by = row.decided_by.as_deref().unwrap_or(account);
            Refusal::new(
                Code::InvalidTransition,
                format!("the connection with {} was closed by {by}", shown(row)),
            )
            .hint(hint)
        }
        Some(row) => Refusal::new(
            Code::InvalidTransition,
            format!(
                "the connection with {} is {}, and nothing can be said on it",
                shown(row),
                row.state.name()
            ),
        )
        .hint("inbox bridge status shows where it stands"),
        None => Refusal::new(
            Code::NotAllowed,
            format!("{sender} has no connection with {account}"),
        )
        .hint(hint),
    }
    .into())
}
