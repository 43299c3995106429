//! Who goes to the store, or to the server, so that the screen never waits: looks and steps, one at a time.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::{Duration, Instant};

use inbox_core::{AgentName, Code, Label, MessageId, Refusal, Status, ThreadId};
use inbox_ops::{
    AgentList, Agents, Caller, Desk, Inbox, List, Receipts, Search, Searched, Show, Shown, Threads,
    Waits,
};

use super::Event;
use crate::far::Far;
use crate::mcp::ground::Ground;
use crate::person;

/// How many threads or messages a list has.
const PAGE: i64 = 100;

/// How many of a thread's newest messages say how far they have come.
const LADDERS: usize = 10;

/// Which threads are listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Filter {
    pub(super) query: String,
    pub(super) which: Which,
    pub(super) agent: Option<AgentName>,
}

/// Threads by where they stand.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Which {
    #[default]
    All,
    Open,
    Blocked,
    Ended,
}

impl Which {
    pub(super) fn word(self) -> &'static str {
        match self {
            Which::All => "all",
            Which::Open => "open",
            Which::Blocked => "blocked",
            Which::Ended => "ended",
        }
    }

    pub(super) fn next(self) -> Self {
        match self {
            Which::All => Which::Open,
            Which::Open => Which::Blocked,
            Which::Blocked => Which::Ended,
            Which::Ended => Which::All,
        }
    }

    fn statuses(self) -> Vec<Status> {
        let all = Status::ALL.iter().copied();
        match self {
            Which::All => Vec::new(),
            Which::Open => all.filter(|status| !status.is_final()).collect(),
            Which::Blocked => vec![Status::Blocked],
            Which::Ended => all.filter(|status| status.is_final()).collect(),
        }
    }
}

/// What is to be looked at, beside what waits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Wish {
    pub(super) agents: bool,
    pub(super) threads: Option<Filter>,
    pub(super) thread: Option<ThreadId>,
}

/// What was found.
#[derive(Debug, Clone)]
pub(super) enum Found {
    Threads(Threads),
    Hits(Searched),
}

/// What was seen.
#[derive(Debug, Clone)]
pub(super) struct Looked {
    pub(super) desk: Waits,
    pub(super) agents: Option<Agents>,
    /// A query may be refused, and the rest still holds.
    pub(super) threads: Option<(Filter, Result<Found, Refusal>)>,
    pub(super) thread: Option<(ThreadId, Result<Shown, Refusal>)>,
}

/// What a person does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Step {
    Say {
        thread: ThreadId,
        is_answer: bool,
        word: Option<String>,
        body: Option<String>,
    },
    CallOff {
        thread: ThreadId,
        reason: Option<String>,
    },
    Give {
        thread: ThreadId,
        to: Option<String>,
    },
    Note {
        about: String,
        text: String,
    },
    Read(Vec<MessageId>),
}

/// What the clerk is told.
pub(super) enum Errand {
    Look(Wish),
    Do(Step),
}

/// Where the clerk goes.
pub(super) enum Place {
    Here(Arc<Inbox>),
    There(Far),
}

impl Place {
    fn ground(&self) -> Ground<'_> {
        match self {
            Place::Here(inbox) => Ground::Store(inbox),
            Place::There(far) => Ground::Server(far, Duration::ZERO),
        }
    }
}

/// Works until nobody has an errand any more.
pub(super) fn work(
    place: &Place,
    caller: &Caller,
    errands: &Receiver<Errand>,
    tell: &Sender<Event>,
) {
    // What could not be sent for certain, and its key: sent again, it has one effect.
    let mut uncertain: Option<(Step, Label)> = None;
    for errand in errands {
        let begun = Instant::now();
        // A fault ends one errand, and not the console.
        let event = std::panic::catch_unwind(AssertUnwindSafe(|| match errand {
            Errand::Look(wish) => {
                let looked = look(&place.ground(), caller, wish);
                Event::Looked(Box::new(looked), begun.elapsed())
            }
            Errand::Do(step) => {
                let key = uncertain.take().filter(|(same, _)| *same == step);
                let key = key.map(|(_, key)| key).or_else(fresh);
                let done = act(&place.ground(), caller, &step, key.as_ref());
                if let (Err(refusal), Some(key)) = (&done, key)
                    && matches!(refusal.code, Code::Storage | Code::Internal)
                {
                    uncertain = Some((step.clone(), key));
                }
                Event::Done(step, done)
            }
        }));
        let event = event.unwrap_or_else(|_| Event::Fault);
        if tell.send(event).is_err() {
            return;
        }
    }
}

fn fresh() -> Option<Label> {
    let mut bytes = [0; 12];
    getrandom::fill(&mut bytes).ok()?;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("terminal-{hex}").parse().ok()
}

fn look(ground: &Ground<'_>, caller: &Caller, wish: Wish) -> Result<Looked, Refusal> {
    let desk = ground.run(&Desk::default(), caller)?;
    let agents = AgentList {
        work: true,
        ..AgentList::default()
    };
    let agents = if wish.agents {
        Some(ground.run(&agents, caller)?)
    } else {
        None
    };
    let threads = wish.threads.map(|filter| {
        let found = find(ground, caller, &filter);
        (filter, found)
    });
    let thread = wish.thread.map(|id| (id, whole(ground, caller, id)));
    Ok(Looked {
        desk,
        agents,
        threads,
        thread,
    })
}

fn find(ground: &Ground<'_>, caller: &Caller, filter: &Filter) -> Result<Found, Refusal> {
    if filter.query.trim().is_empty() {
        let list = List {
            status: filter.which.statuses(),
            agent: filter.agent.clone(),
            limit: Some(PAGE),
            ..List::default()
        };
        return ground.run(&list, caller).map(Found::Threads);
    }
    let search = Search {
        query: filter.query.clone(),
        status: filter.which.statuses(),
        agent: filter.agent.clone(),
        limit: Some(PAGE),
        ..Search::default()
    };
    ground.run(&search, caller).map(Found::Hits)
}

fn whole(ground: &Ground<'_>, caller: &Caller, id: ThreadId) -> Result<Shown, Refusal> {
    let mut shown = ground.run(&Show::of(id), caller)?;
    for message in shown.messages.iter().rev().take(LADDERS) {
        let receipts = Receipts {
            message: message.message_id,
        };
        shown.receipts.push(ground.run(&receipts, caller)?);
    }
    Ok(shown)
}

fn act(
    ground: &Ground<'_>,
    caller: &Caller,
    step: &Step,
    key: Option<&Label>,
) -> Result<(), Refusal> {
    let caller = &Caller {
        key: key.cloned(),
        ..caller.clone()
    };
    match step.clone() {
        Step::Say {
            thread,
            is_answer,
            word,
            body,
        } => person::say(ground, caller, thread, is_answer, word, body),
        Step::CallOff { thread, reason } => person::call_off(ground, caller, thread, reason),
        Step::Give { thread, to } => person::give(ground, caller, thread, to.as_deref(), None),
        Step::Note { about, text } => person::note(ground, caller, Some(&about), Some(text)),
        Step::Read(messages) => {
            // Each page is a call of its own.
            let caller = Caller {
                key: None,
                ..caller.clone()
            };
            person::read(ground, &caller, messages)
        }
    }
}
