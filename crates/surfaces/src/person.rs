//! What a person sees and does, the same on the console's pages and in the terminal: marks, words, and the steps behind buttons
//! and keys. The rules are the operations'.

use inbox_core::text::first_line;
use inbox_core::{Code, Entity, Kind, Message, MessageId, Refusal, SessionState, Status, ThreadId};
use inbox_ops::{Ask, AskSort, Assign, Caller, Cancel, Note, Read, Reply, Show};

use crate::mcp::ground::Ground;

/// How many of a thread's newest messages count as read by an answer.
const ANSWERED: i64 = 50;

/// How many pages of mail are read at once.
const PAGES: usize = 100;

/// A mark that tells a status without colour.
pub(crate) fn status_mark(status: Status) -> &'static str {
    match status {
        Status::Pending => "○",
        Status::Claimed => "◐",
        Status::InProgress => "●",
        Status::Blocked => "◼",
        Status::Done => "✓",
        Status::Failed => "✕",
        Status::Cancelled => "–",
    }
}

/// A status as people say it.
pub(crate) fn status_word(status: Status) -> String {
    status.name().replace('_', " ")
}

/// What an agent's state is called, and its mark.
pub(crate) fn state_mark(state: Option<SessionState>) -> (&'static str, &'static str) {
    match state {
        Some(SessionState::Alive) => ("alive", "●"),
        Some(SessionState::Frozen) => ("frozen", "❄"),
        Some(SessionState::Dead) => ("gone", "○"),
        None => ("no session", "·"),
    }
}

/// What a sort of question is called, and the answers that need no writing, each with its word for a button.
pub(crate) fn wanted(sort: AskSort) -> (&'static str, &'static [Button]) {
    match sort {
        AskSort::Blocked => ("Blocked", &[]),
        AskSort::Approval => (
            "Approval",
            &[
                ("approve", "Approve"),
                ("reject", "Reject"),
                ("dismiss", "Dismiss"),
            ],
        ),
        AskSort::Connection => ("Connection", &[("accept", "Accept"), ("refuse", "Refuse")]),
        AskSort::Question => ("Question", &[]),
    }
}

/// An answer that needs no writing: its word, and what its button says.
pub(crate) type Button = (&'static str, &'static str);

/// The answers to a question that need no writing. Only what can be read can be signed.
pub(crate) fn answers(ask: &Ask) -> Vec<Button> {
    let (_, usual) = wanted(ask.sort);
    if ask.sort != AskSort::Approval || !is_transaction(&ask.message) {
        return usual.to_vec();
    }
    let given = ask.message.payload_json["decisions"].as_array();
    let is_given = |word: &str| given.is_none_or(|list| list.iter().any(|it| it == word));
    let named = usual.iter().map(|&(word, name)| match word {
        "approve" => (word, "Sign"),
        _ => (word, name),
    });
    named.filter(|(word, _)| is_given(word)).collect()
}

/// Whether this program asks for a signature. What another calls so is a message like any other.
pub(crate) fn is_transaction(message: &Message) -> bool {
    message.from_agent.is_system()
        && message.message_type.as_deref() == Some("transaction.approval")
}

/// A length of time in its largest unit.
pub(crate) fn span(millis: i64) -> String {
    let seconds = millis.max(0) / 1000;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m", seconds / 60),
        3600..86_400 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}

/// A refusal of what says nothing.
pub(crate) fn empty(what: &str) -> Refusal {
    Refusal::new(Code::InvalidInput, format!("{what} says something"))
        .hint("write something, and send it again")
}

/// A word in a thread: an answer, or a reply. `word` is what a button stands for, beside which something may be written.
/// Whoever answers has read what it answers.
pub(crate) fn say(
    ground: &Ground<'_>,
    caller: &Caller,
    thread: ThreadId,
    is_answer: bool,
    word: Option<String>,
    body: Option<String>,
) -> Result<(), Refusal> {
    let (summary, body) = match (word, body) {
        (Some(word), body) => (word, body),
        (None, Some(body)) => (first_line(&body).to_owned(), Some(body)),
        (None, None) => return Err(empty("an answer")),
    };
    let reply = Reply {
        kind: (!is_answer).then_some(Kind::Event),
        summary: Some(summary),
        body,
        ..Reply::to(thread)
    };
    ground.run(&reply, caller)?;
    // The key was the reply's.
    let caller = Caller {
        key: None,
        ..caller.clone()
    };
    let newest = Show {
        limit: Some(ANSWERED),
        ..Show::of(thread)
    };
    let newest = ground.run(&newest, &caller)?.messages;
    let read = Read {
        message: newest.iter().rev().map(|it| it.message_id).collect(),
        ..Read::default()
    };
    ground.run(&read, &caller).map(drop)
}

/// Calls a thread off.
pub(crate) fn call_off(
    ground: &Ground<'_>,
    caller: &Caller,
    thread: ThreadId,
    reason: Option<String>,
) -> Result<(), Refusal> {
    ground.run(&Cancel { thread, reason }, caller).map(drop)
}

/// Gives work to an address, or takes it back for those whom it was for.
pub(crate) fn give(
    ground: &Ground<'_>,
    caller: &Caller,
    thread: ThreadId,
    to: Option<&str>,
    reason: Option<String>,
) -> Result<(), Refusal> {
    let to = to.map(|to| to.trim().parse()).transpose()?;
    let assign = Assign {
        thread,
        to: to.into_iter().collect(),
        reason,
    };
    ground.run(&assign, caller).map(drop)
}

/// Marks these messages as read, or all there are.
pub(crate) fn read(
    ground: &Ground<'_>,
    caller: &Caller,
    message: Vec<MessageId>,
) -> Result<(), Refusal> {
    let is_all = message.is_empty();
    let request = Read {
        limit: is_all.then_some(inbox_core::limit::PAGE_MAX),
        message,
        ..Read::default()
    };
    // A page of it at a time; each makes the rest smaller.
    for _ in 0..PAGES {
        let answer = ground.run(&request, caller)?;
        if !is_all || answer.messages.is_empty() {
            break;
        }
    }
    Ok(())
}

/// Writes a note on what a thread is about.
pub(crate) fn note(
    ground: &Ground<'_>,
    caller: &Caller,
    about: Option<&str>,
    text: Option<String>,
) -> Result<(), Refusal> {
    let about = about.map(|about| about.trim().parse::<Entity>());
    let entity = about
        .transpose()?
        .ok_or_else(|| Refusal::input("a note is about something: ref is missing"))?;
    let note = Note {
        entity,
        note: text.ok_or_else(|| empty("a note"))?,
        notify: Vec::new(),
        priority: None,
        artifacts: Vec::new(),
    };
    ground.run(&note, caller).map(drop)
}
