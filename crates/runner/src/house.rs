//! What all threads of a runner share: what it runs, for whom, how much at once, and when to end.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::Duration;

use inbox_core::{Label, Refusal, Status, ThreadId};
use inbox_ops::config::Preset;
use inbox_ops::{Caller, Config};

use crate::client;
use crate::guardian::Limits;

/// What is to be run, as this machine is configured. Nothing of it comes from a message.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The command and its arguments. `{prompt}` and `{prompt_file}` stand for the prompt and for a file with it; without
    /// them it is on standard input.
    pub argv: Vec<String>,
    /// The command that goes on with a conversation, `{session}`; empty when there is none.
    pub resume: Vec<String>,
    /// How its output is read, where it is not the result as it is.
    pub preset: Option<Preset>,
    /// The program that is a guardian when it is called as one.
    pub guardian: PathBuf,
    /// Where commands run unless a brief asks for another folder.
    pub folder: PathBuf,
    /// Variables for the command beside those that are allowed: where the store is.
    pub env: Vec<(String, String)>,
    /// The roles that the runner holds.
    pub role: Vec<String>,
    /// The tags that it has.
    pub tag: Vec<String>,
    /// Only work with this run.
    pub run: Option<Label>,
    /// Only work with this task.
    pub task: Option<Label>,
    /// How many commands run at once.
    pub concurrency: usize,
    /// End after one thread.
    pub once: bool,
    /// End when there is nothing left to do.
    pub drain: bool,
}

impl Plan {
    /// The command that goes on with a conversation. One that is talked with is started as ever, and told there.
    pub(crate) fn resume(&self) -> &[String] {
        if client::talks(self.preset.as_ref()) {
            return &self.argv;
        }
        &self.resume
    }
}

/// What happens in a runner, for those who watch it.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// It waits for work.
    Idle,
    /// It took a thread.
    Took {
        /// The thread.
        thread: ThreadId,
        /// What it is about.
        subject: String,
    },
    /// A command said something.
    Said {
        /// Its thread.
        thread: ThreadId,
        /// The line.
        line: String,
    },
    /// An output was not what the brief asks for.
    Refused {
        /// The thread.
        thread: ThreadId,
        /// The attempt.
        attempt: u64,
        /// Every reason.
        reasons: Vec<String>,
    },
    /// A thread waits for an answer.
    Asked {
        /// The thread.
        thread: ThreadId,
        /// What is asked.
        question: String,
    },
    /// An answer came.
    Answered {
        /// The thread.
        thread: ThreadId,
    },
    /// A thread is off its hands.
    Ended {
        /// The thread.
        thread: ThreadId,
        /// How.
        end: End,
        /// What is to be said about it.
        summary: String,
        /// How long it took.
        took: Duration,
    },
    /// Something that should be known.
    Warning(String),
}

/// How a runner got a thread off its hands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// It is over.
    Final(Status),
    /// It was given back.
    Released,
    /// It was lost: to somebody else, or because nobody could say that it still was held.
    Lost,
    /// It waits for an answer, and comes back when its lease ends.
    Left,
}

impl End {
    /// A word for it.
    pub fn name(self) -> &'static str {
        match self {
            End::Final(status) => status.name(),
            End::Released => "released",
            End::Lost => "lost",
            End::Left => "waiting",
        }
    }
}

/// When a runner is to end.
#[derive(Debug, Default)]
pub struct Stop {
    /// 0 go on, 1 finish what runs, 2 end what runs.
    level: AtomicU8,
}

impl Stop {
    /// Takes nothing more, and finishes what runs; called again, ends what runs.
    pub fn ask(&self) {
        let before = self.level.load(Ordering::SeqCst);
        self.level
            .store(before.saturating_add(1).min(2), Ordering::SeqCst);
    }

    /// Whether nothing more is to be taken.
    pub fn is_asked(&self) -> bool {
        self.level.load(Ordering::SeqCst) > 0
    }

    /// Whether what runs is to be ended.
    pub fn is_now(&self) -> bool {
        self.level.load(Ordering::SeqCst) > 1
    }

    fn end_now(&self) {
        self.level.store(2, Ordering::SeqCst);
    }
}

/// What all threads of a runner share.
pub(crate) struct House<L> {
    pub(crate) open: Box<dyn Fn() -> Result<L, Refusal> + Send + Sync>,
    pub(crate) config: Config,
    pub(crate) plan: Plan,
    pub(crate) caller: Caller,
    pub(crate) stop: std::sync::Arc<Stop>,
    pub(crate) tell: Box<dyn Fn(News) + Send + Sync>,
    pub(crate) slots: Slots,
    /// Why the runner cannot go on.
    pub(crate) broken: Mutex<Option<Refusal>>,
}

impl<L> House<L> {
    pub(crate) fn limits(&self) -> Limits {
        let run = &self.config.run;
        let whole = |value: i64| u64::try_from(value).unwrap_or(0);
        Limits {
            memory: whole(run.memory_mb) << 20,
            processes: whole(run.processes),
            files: whole(run.open_files),
        }
    }

    /// Ends the runner: what it cannot do for one thread it can do for none.
    pub(crate) fn give_up(&self, refusal: Refusal) {
        if let Ok(mut broken) = self.broken.lock() {
            broken.get_or_insert(refusal);
        }
        self.stop.end_now();
        self.slots.wake();
    }
}

/// How many commands may run at once, and how many threads are in hand.
pub(crate) struct Slots {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, Default)]
struct State {
    all: usize,
    free: usize,
    in_hand: usize,
}

impl Slots {
    pub(crate) fn new(free: usize) -> Self {
        Slots {
            state: Mutex::new(State {
                all: free,
                free,
                in_hand: 0,
            }),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn change(&self, f: impl FnOnce(&mut State)) {
        f(&mut self.state());
        self.changed.notify_all();
    }

    /// Takes a place, if one is free.
    pub(crate) fn take(&self) -> bool {
        let mut state = self.state();
        let is_free = state.free > 0;
        state.free -= usize::from(is_free);
        is_free
    }

    pub(crate) fn give(&self) {
        self.change(|state| state.free += 1);
    }

    pub(crate) fn begin(&self) {
        self.change(|state| state.in_hand += 1);
    }

    pub(crate) fn end(&self) {
        self.change(|state| state.in_hand -= 1);
    }

    pub(crate) fn in_hand(&self) -> usize {
        self.state().in_hand
    }

    pub(crate) fn has_free(&self) -> bool {
        self.state().free > 0
    }

    /// Whether anything is worked on.
    pub(crate) fn is_busy(&self) -> bool {
        let state = self.state();
        state.free < state.all
    }

    pub(crate) fn wake(&self) {
        self.changed.notify_all();
    }

    /// Waits for a change, and not for ever.
    pub(crate) fn wait(&self, most: Duration) {
        let _ = self.changed.wait_timeout(self.state(), most);
    }
}
