//! Where a message goes: how each address is read, whom it reaches now, and how long it waits there.

use inbox_core::record::Millis;
use inbox_core::{Address, AgentName, Code, Mode, Refusal, SessionId, SessionState, address};
use inbox_store::{Abort, NewMessage, ThreadRow, Tx};

use crate::answer::Delivery;
use crate::config::Config;

/// Reads the addresses of a message, sets when it expires at each, and says what its sender should know.
pub(crate) fn address(
    tx: &mut Tx<'_>,
    config: &Config,
    message: &mut NewMessage,
    ttl_hours: Option<i64>,
) -> Result<Vec<Delivery>, Abort> {
    let mut found: Vec<Delivery> = Vec::with_capacity(message.to.len());
    for written in std::mem::take(&mut message.to) {
        let delivery = read(tx, config, written)?;
        if !found.iter().any(|other| other.address == delivery.address) {
            found.push(delivery);
        }
    }
    message.to = found
        .iter()
        .map(|delivery| delivery.address.clone())
        .collect();
    set_expiry(config, message, ttl_hours, tx.now());
    Ok(found)
}

/// Sets when a message expires at each of its addresses.
pub(crate) fn set_expiry(
    config: &Config,
    message: &mut NewMessage,
    ttl_hours: Option<i64>,
    now: Millis,
) {
    let lasting = |mode| ttl_hours.or_else(|| config.expiry.hours(mode));
    let deadline = |to: &Address| {
        lasting(to.mode()).map(|hours| Millis(now.0.saturating_add(hours * 3_600_000)))
    };
    message.deadlines = message.to.iter().map(deadline).collect();
    // What lasts for ever at one address lasts for ever.
    let all: Option<Vec<Millis>> = message.deadlines.iter().copied().collect();
    message.expires_at = all.and_then(|times| times.into_iter().max());
}

/// Addresses a message that does not say whom it is for: to the thread's holder, else to who opened it, but
/// never to its sender; when nobody is left, to the thread's own addresses.
pub(crate) fn to_thread(
    config: &Config,
    row: &ThreadRow,
    sender: &AgentName,
    message: &mut NewMessage,
    now: Millis,
) {
    message.to = [row.holder.as_ref(), Some(&row.thread.created_by)]
        .into_iter()
        .flatten()
        .find(|name| *name != sender)
        .map(Address::from)
        .into_iter()
        .collect();
    if message.to.is_empty() {
        message.to.clone_from(&row.thread.to);
    }
    set_expiry(config, message, None, now);
}

fn read(tx: &mut Tx<'_>, config: &Config, written: Address) -> Result<Delivery, Abort> {
    match written.mode() {
        Mode::Agent => bare(tx, config, written),
        Mode::Session => session(tx, written),
        Mode::Role => {
            let reaches = count(tx, &written)?;
            let note = "nobody holds this role now; it waits for the first who does";
            Ok(delivery(
                written,
                reaches,
                (reaches == 0).then(|| note.to_owned()),
            ))
        }
        Mode::Tag => {
            let reaches = count(tx, &written)?;
            let note = "no session has this tag now; it waits until it expires";
            Ok(delivery(
                written,
                reaches,
                (reaches == 0).then(|| note.to_owned()),
            ))
        }
        Mode::Broadcast => {
            let reaches = count(tx, &written)?;
            let note = "no session is alive now; it waits until it expires";
            Ok(delivery(
                written,
                reaches,
                (reaches == 0).then(|| note.to_owned()),
            ))
        }
        Mode::Ledger => {
            let note = "pending: it leaves for the ledger once a bridge runs";
            Ok(delivery(written, 0, Some(note.to_owned())))
        }
        Mode::Entity => Ok(delivery(written, 0, None)),
    }
}

/// A bare name: a known session, a known agent, a known role; else it stays open.
fn bare(tx: &mut Tx<'_>, config: &Config, written: Address) -> Result<Delivery, Abort> {
    if written.as_str() == "human" {
        let people = i64::try_from(tx.humans()?.len()).unwrap_or(i64::MAX);
        let note = "no person is on the roster yet; inbox agent add NAME --kind human adds one";
        return Ok(delivery(
            written,
            people,
            (people == 0).then(|| note.to_owned()),
        ));
    }
    let Some(name) = written.bare_name() else {
        return Ok(delivery(written, 0, None));
    };
    let found = tx.resolve(&name)?;
    if found.is_session
        && let Ok(id) = written.as_str().parse::<SessionId>()
    {
        return session(tx, Address::session(&id));
    }
    if found.is_agent && name.account().is_some() {
        let note = "it leaves for the ledger, over the connection";
        return Ok(delivery(written, 1, Some(note.to_owned())));
    }
    if found.is_agent {
        let note = silence(tx, config, &written, found.seen_at)?;
        return Ok(delivery(written, 1, note));
    }
    if found.is_role {
        return read(tx, config, Address::role(&name));
    }
    let note = "nobody has this name yet; it reaches the first who does";
    Ok(delivery(written, 0, Some(note.to_owned())))
}

fn session(tx: &mut Tx<'_>, address: Address) -> Result<Delivery, Abort> {
    let id: SessionId = address.as_str().parse()?;
    let Some(row) = tx.session(&id)? else {
        return Err(Refusal::input(format!(
            "{:?} is neither a known session nor a name",
            id.as_str()
        ))
        .hint(address::FORMS)
        .into());
    };
    let agent = &row.session.agent_id;
    match row.session.state {
        SessionState::Alive => Ok(delivery(address, 1, None)),
        SessionState::Frozen => {
            let note = format!(
                "the session is frozen; it waits, and does not age, until {agent} resumes it"
            );
            Ok(delivery(address, 0, Some(note)))
        }
        SessionState::Dead => Err(Refusal::new(
            Code::RecipientDead,
            if row.set_state == SessionState::Dead {
                format!("the session {id} of {agent} has ended")
            } else {
                let away = span(tx.now().0 - row.session.seen_at.0);
                format!("the session {id} of {agent} was last seen {away} ago and counts as dead")
            },
        )
        .hint(format!(
            "inbox send --to {agent} reaches the agent, whichever session it runs"
        ))
        .detail("agent_id", agent.as_str())
        .into()),
    }
}

/// What a sender should know of an agent that has not been seen for long.
fn silence(
    tx: &mut Tx<'_>,
    config: &Config,
    address: &Address,
    seen_at: Option<Millis>,
) -> Result<Option<String>, Abort> {
    let silent = config.presence.silent_after_minutes.saturating_mul(60_000);
    let away = seen_at.map(|seen| tx.now().0 - seen.0);
    if away.is_some_and(|away| away < silent) {
        return Ok(None);
    }
    let Some(name) = address.bare_name() else {
        return Ok(None);
    };
    let reader = tx.reader(&name, None)?;
    let unread = tx.count_unread(&reader, 100)?;
    let waiting = match unread {
        0 => String::new(),
        100.. => " and has 100 unread or more".to_owned(),
        some => format!(" and has {some} unread"),
    };
    Ok(Some(match away {
        Some(away) => format!("{name} was last seen {} ago{waiting}", span(away)),
        None => format!("{name} has never been seen{waiting}"),
    }))
}

fn span(millis: i64) -> String {
    match millis / 60_000 {
        minutes @ 0..=119 => format!("{minutes} min"),
        minutes @ 120..=2879 => format!("{} h", minutes / 60),
        minutes => format!("{} days", minutes / 1440),
    }
}

fn count(tx: &mut Tx<'_>, address: &Address) -> Result<i64, Abort> {
    let reached = tx.reached_sessions(address, false)?;
    Ok(i64::try_from(reached.len()).unwrap_or(i64::MAX))
}

fn delivery(address: Address, reaches: i64, note: Option<String>) -> Delivery {
    Delivery {
        mode: address.mode(),
        address,
        reaches,
        note,
    }
}
