//! The loop guard: agents that only answer each other are stopped, and the person is told.
//!
//! Every message knows what it follows from and how many messages of agents lie between it and the last
//! word of a person. A chain that grows too long, a thread in which agents take turns too often, and one
//! that says the same again and again are refused. Who is working may always finish, fail or ask.

use inbox_core::lifecycle::Command;
use inbox_core::record::Millis;
use inbox_core::sabotage::planted;
use inbox_core::{AgentKind, AgentName, Auth, Code, Kind, MessageId, Priority, Refusal, ThreadId};
use inbox_store::{Abort, NewMessage, NewThread, ThreadRow, Tx};
use serde_json::json;

use crate::call::{Caller, Inbox};
use crate::config::{Config, Guard};
use crate::typed;

/// How many of the sender's own messages are searched for repeats.
const DEPTH: i64 = 50;

/// Judges a message in a thread, and gives its place in the chain. The number of turns with it.
pub(crate) fn in_thread(
    tx: &mut Tx<'_>,
    config: &Config,
    agent: &AgentName,
    row: &ThreadRow,
    command: Command,
    message: &mut NewMessage,
) -> Result<i64, Abort> {
    typed::must_not_pass_for_human(tx, agent, message)?;
    let speaker = tx.agent(agent)?;
    let kind = speaker.map_or(AgentKind::Agent, |row| row.kind);
    let named = message.parent;
    message.parent = named.or(row.thread.latest_message_id);
    if kind == AgentKind::Human {
        return Ok(0);
    }
    let before = match named {
        Some(parent) => tx.spoken(parent)?,
        None => tx.spoken_last(row.thread.thread_id)?,
    };
    let Some((by, hops)) = before else {
        return Ok(row.turns);
    };
    let is_own = speaker.is_some_and(|row| row.agent_no == by);
    if is_own || kind == AgentKind::System {
        message.hops = hops;
    } else {
        message.hops = hops + 1;
    }
    let turns = row.turns + i64::from(!is_own && kind == AgentKind::Agent);
    // Only what goes on talking is held up: work may always end, and a worker may always ask.
    if matches!(command, Command::Append(_)) && kind == AgentKind::Agent {
        let thread = row.thread.thread_id;
        let guard = &config.guard;
        if guard.max_turns > 0 && turns > guard.max_turns && !planted("guard_asleep") {
            return Err(circles(
                Some(thread),
                format!(
                    "agents have taken turns {} times in {thread} without a person",
                    row.turns
                ),
            ));
        }
        judge(tx, guard, agent, Some(thread), message)?;
    }
    Ok(turns)
}

/// Judges a message that opens a thread: it follows from what it names, from the work in hand, or from
/// what its sender has just read.
pub(crate) fn opening(
    tx: &mut Tx<'_>,
    config: &Config,
    caller: &Caller,
    agent: &AgentName,
    message: &mut NewMessage,
) -> Result<(), Abort> {
    typed::must_not_pass_for_human(tx, agent, message)?;
    let speaker = tx.agent(agent)?;
    let guard = &config.guard;
    if message.parent.is_none() {
        message.parent = cause(tx, guard, caller, speaker.and_then(|row| row.last_read))?;
    }
    if speaker.is_some_and(|row| row.kind != AgentKind::Agent) {
        return Ok(());
    }
    if let Some(parent) = message.parent
        && let Some((_, hops)) = tx.spoken(parent)?
    {
        message.hops = hops + 1;
    }
    // Work is given out and not said: a leader that has read nothing may do so a hundred times.
    if message.hops == 0 && message.kind == Kind::Task {
        return Ok(());
    }
    judge(tx, guard, agent, None, message)
}

fn cause(
    tx: &mut Tx<'_>,
    guard: &Guard,
    caller: &Caller,
    last_read: Option<(MessageId, Millis)>,
) -> Result<Option<MessageId>, Abort> {
    if let Some(token) = &caller.lease
        && let Some(row) = tx.load_thread(token.thread)?
    {
        return Ok(row.thread.latest_message_id);
    }
    let since = tx.now().0 - guard.window_minutes * 60_000;
    Ok(last_read
        .filter(|(_, at)| at.0 > since)
        .map(|(message, _)| message))
}

fn judge(
    tx: &mut Tx<'_>,
    guard: &Guard,
    agent: &AgentName,
    thread: Option<ThreadId>,
    message: &NewMessage,
) -> Result<(), Abort> {
    if guard.max_hops > 0 && message.hops > guard.max_hops && !planted("guard_asleep") {
        return Err(circles(
            thread,
            format!(
                "this message follows from {} messages of agents, one from the other, without a person",
                message.hops
            ),
        ));
    }
    let Some(agent_no) = tx.find_agent(agent)? else {
        return Ok(());
    };
    if guard.max_repeats > 0 {
        let since = Millis(tx.now().0 - guard.window_minutes * 60_000);
        // Most messages differ from the one before, and then nothing more is looked at.
        if tx.said_before(agent_no, message, since, 1)? > 0 {
            let times = tx.said_before(agent_no, message, since, DEPTH)?;
            if times >= guard.max_repeats {
                let to = message
                    .to
                    .first()
                    .map(ToString::to_string)
                    .unwrap_or_default();
                return Err(circles(
                    thread,
                    format!("{agent} has said the same to {to} {times} times"),
                ));
            }
        }
    }
    Ok(())
}

fn circles(thread: Option<ThreadId>, problem: String) -> Abort {
    let refusal = Refusal::new(Code::LoopGuard, problem).hint(
        "stop, and wait for the person, who has been told; their next word in the thread lets it go on",
    );
    match thread {
        Some(thread) => refusal.detail("thread_id", thread.to_string()),
        None => refusal,
    }
    .into()
}

impl Inbox {
    /// Tells the person of a circle, once in a while for each thread. Gives the refusal on.
    pub(crate) fn tell_human(&self, refusal: Refusal) -> Refusal {
        let told = self.store().write(|tx| {
            let system = AgentName::system();
            let window = tx.now().0 / (self.config().guard.window_minutes.max(1) * 60_000);
            let thread = refusal.details.get("thread_id").and_then(|id| id.as_str());
            let key = format!("guard {} {window}", thread.unwrap_or(&refusal.message));
            tx.ensure_agent_of(&system, AgentKind::System)?;
            if tx.recall(&system, &key)?.is_some() {
                return Ok(());
            }
            let subject = match thread {
                Some(thread) => format!("agents go in circles in {thread}"),
                None => "agents go in circles".to_owned(),
            };
            let mut message = NewMessage::saying(Kind::Event, &subject, Auth::Local);
            message.to = vec!["human".parse()?];
            message.body = format!(
                "{}\n\nTheir next message was refused. A word of yours in the thread lets them go on.",
                refusal.message
            );
            message.message_type = Some("guard.loop".to_owned());
            message.payload_json = json!({ "thread_id": thread, "problem": refusal.message });
            let new = NewThread {
                subject,
                priority: Priority::High,
                run: None,
                task: None,
                entity: None,
                own: None,
            };
            tx.open_thread(&system, None, new, message)?;
            tx.remember(&system, &key, "guard", "{}")?;
            Ok(())
        });
        match told {
            Ok(_) => refusal,
            Err(error) => refusal.detail("person_not_told", error.message),
        }
    }
}
