//! The console as a machine: keys and answers go in, a screen and orders come out. It knows no terminal, no store and no clock.

use std::collections::HashMap;

use inbox_core::record::Millis;
use inbox_core::{AgentName, Refusal, Thread, ThreadId};
use inbox_ops::{Agents, Ask, Shown, Waits};

use super::clerk::{Filter, Found, Looked, Step, Wish};
use super::dialog::Dialog;
use super::editor::Editor;
use super::lists::{Cursor, ItemKey};

/// From this width on a list and a thread stand side by side.
pub(super) const WIDE: u16 = 110;

/// The three lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tab {
    You,
    Agents,
    Threads,
}

impl Tab {
    pub(super) const ALL: [Tab; 3] = [Tab::You, Tab::Agents, Tab::Threads];

    pub(super) fn name(self) -> &'static str {
        match self {
            Tab::You => "For you",
            Tab::Agents => "Agents",
            Tab::Threads => "Threads",
        }
    }
}

/// What is wanted of the world.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Order {
    /// Look at what [`App::wish`] says.
    Look,
    Do(Step),
    /// Draw everything again.
    Redraw,
    Suspend,
    Quit,
}

/// The thread that is open.
#[derive(Debug, Default)]
pub(super) struct Reading {
    pub(super) id: Option<ThreadId>,
    pub(super) shown: Option<Shown>,
    pub(super) refusal: Option<Refusal>,
    /// The first line that is seen, and whether the end stays in sight.
    pub(super) top: usize,
    pub(super) is_at_end: bool,
    /// How many lines there are, and how many are seen; known once it is drawn.
    pub(super) total: usize,
    pub(super) height: usize,
}

impl Reading {
    fn of(id: ThreadId) -> Self {
        Reading {
            id: Some(id),
            is_at_end: true,
            ..Reading::default()
        }
    }

    /// Moves by so many lines.
    pub(super) fn scroll(&mut self, lines: isize) {
        let last = self.total.saturating_sub(self.height);
        self.top = self.top.saturating_add_signed(lines).min(last);
        self.is_at_end = self.top >= last;
    }
}

/// What is written.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Writing {
    Answer,
    Reply,
    /// On an entity.
    Note(String),
}

/// A text under work.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) thread: ThreadId,
    pub(super) writing: Writing,
    pub(super) editor: Editor,
}

/// A line that says how something went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Notice {
    pub(super) sort: Told,
    pub(super) text: String,
    pub(super) hint: String,
}

/// What a notice tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Told {
    Word,
    Done,
    Refused,
}

/// Everything that the console knows.
pub(super) struct App {
    pub(super) me: AgentName,
    pub(super) now: Millis,
    pub(super) size: (u16, u16),
    pub(super) tab: Tab,
    /// Whether keys go to the thread, and not to the list.
    pub(super) is_in_thread: bool,
    pub(super) desk: Option<Waits>,
    pub(super) agents: Option<Agents>,
    pub(super) filter: Filter,
    pub(super) found: Option<Found>,
    pub(super) cursors: [Cursor; 3],
    pub(super) reading: Reading,
    pub(super) draft: Option<Draft>,
    pub(super) drafts: HashMap<(ThreadId, Writing), Editor>,
    pub(super) dialog: Option<Dialog>,
    pub(super) notice: Option<Notice>,
    /// What is being done.
    pub(super) doing: Option<Step>,
    /// Why what is seen may be old.
    pub(super) trouble: Option<Refusal>,
}

impl App {
    pub(super) fn new(me: AgentName, size: (u16, u16), now: Millis) -> Self {
        App {
            me,
            now,
            size,
            tab: Tab::You,
            is_in_thread: false,
            desk: None,
            agents: None,
            filter: Filter::default(),
            found: None,
            cursors: Default::default(),
            reading: Reading::default(),
            draft: None,
            drafts: HashMap::new(),
            dialog: None,
            notice: None,
            doing: None,
            trouble: None,
        }
    }

    pub(super) fn is_wide(&self) -> bool {
        self.size.0 >= WIDE
    }

    /// Whether the thread is seen.
    pub(super) fn shows_thread(&self) -> bool {
        self.is_wide() || self.is_in_thread || self.draft.is_some()
    }

    /// What must be looked at for what is seen.
    pub(super) fn wish(&self) -> Wish {
        let gives = matches!(self.dialog, Some(Dialog::Give { .. }));
        Wish {
            agents: self.tab == Tab::Agents || gives,
            threads: (self.tab == Tab::Threads).then(|| self.filter.clone()),
            thread: self.reading.id.filter(|_| self.shows_thread()),
        }
    }

    pub(super) fn cursor(&mut self) -> &mut Cursor {
        &mut self.cursors[self.tab as usize]
    }

    /// What is chosen in the list.
    pub(super) fn chosen(&self) -> Option<ItemKey> {
        let keys = self.items();
        self.cursors[self.tab as usize].settled(&keys)
    }

    /// The thread that keys act on.
    pub(super) fn target(&self) -> Option<ThreadId> {
        if self.is_in_thread {
            return self.reading.id;
        }
        self.chosen()?.thread()
    }

    /// The open question in a thread.
    pub(super) fn ask(&self, id: ThreadId) -> Option<&Ask> {
        let desk = self.desk.as_ref()?;
        let mut asks = desk.asks.iter().chain(&desk.elsewhere);
        asks.find(|ask| ask.thread.thread_id == id)
    }

    /// A thread, as far as it has been seen.
    pub(super) fn thread(&self, id: ThreadId) -> Option<&Thread> {
        let shown = self.reading.shown.iter().map(|shown| &shown.thread);
        let asked = self.ask(id).map(|ask| &ask.thread);
        let held = self.agents.iter().flat_map(|agents| &agents.work);
        let held = held.flat_map(|work| work.holds.iter().map(|held| &held.thread));
        let listed = match &self.found {
            Some(Found::Threads(found)) => &found.threads[..],
            _ => &[],
        };
        let mut all = shown.chain(asked).chain(held).chain(listed);
        all.find(|thread| thread.thread_id == id)
    }

    /// What a thread is called.
    pub(super) fn subject(&self, id: ThreadId) -> String {
        let found = self.thread(id).map(|thread| thread.subject.clone());
        found
            .filter(|subject| !subject.trim().is_empty())
            .unwrap_or_else(|| id.to_string())
    }

    /// Goes to a list.
    pub(super) fn go(&mut self, tab: Tab) -> Vec<Order> {
        self.tab = tab;
        self.is_in_thread = false;
        self.follow();
        vec![Order::Look]
    }

    /// Opens what is chosen beside the list, where there is room. Whether that is another thread.
    pub(super) fn follow(&mut self) -> bool {
        if !self.is_wide() || self.is_in_thread || self.draft.is_some() {
            return false;
        }
        match self.chosen().and_then(|chosen| chosen.thread()) {
            Some(id) => self.read(id),
            None => {
                self.reading = Reading::default();
                false
            }
        }
    }

    /// Reads a thread. Whether it is another one.
    pub(super) fn read(&mut self, id: ThreadId) -> bool {
        let is_other = self.reading.id != Some(id);
        if is_other {
            self.reading = Reading::of(id);
        }
        is_other
    }

    /// The screen has another size.
    pub(super) fn resized(&mut self, size: (u16, u16)) -> Vec<Order> {
        self.size = size;
        self.follow();
        vec![Order::Look]
    }

    /// Takes in what was seen.
    pub(super) fn looked(&mut self, looked: Result<Looked, Refusal>) -> Vec<Order> {
        let looked = match looked {
            Ok(looked) => looked,
            Err(refusal) => {
                self.trouble = Some(refusal);
                return Vec::new();
            }
        };
        self.trouble = None;
        self.desk = Some(looked.desk);
        if let Some(agents) = looked.agents {
            self.agents = Some(agents);
        }
        if let Some((filter, found)) = looked.threads
            && filter == self.filter
        {
            match found {
                Ok(found) => self.found = Some(found),
                Err(refusal) => self.refused(&refusal),
            }
        }
        if let Some((id, found)) = looked.thread
            && self.reading.id == Some(id)
        {
            match found {
                Ok(shown) => {
                    self.reading.shown = Some(shown);
                    self.reading.refusal = None;
                }
                Err(refusal) => self.reading.refusal = Some(refusal),
            }
        }
        // What was chosen may have gone, and another thread be the one beside the list.
        if self.follow() {
            return vec![Order::Look];
        }
        Vec::new()
    }

    pub(super) fn refused(&mut self, refusal: &Refusal) {
        self.notice = Some(Notice {
            sort: Told::Refused,
            text: refusal.message.clone(),
            hint: refusal.hint.clone(),
        });
    }

    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.notice = Some(Notice {
            sort: Told::Word,
            text: text.into(),
            hint: String::new(),
        });
    }

    /// Takes in how a step went. What was written stays until it is sent.
    pub(super) fn done(&mut self, step: &Step, outcome: Result<(), Refusal>) -> Vec<Order> {
        self.doing = None;
        match outcome {
            Err(refusal) => self.refused(&refusal),
            Ok(()) => {
                let text = self.told(step);
                if let (Step::Say { word: None, .. } | Step::Note { .. }, Some(draft)) =
                    (step, self.draft.take())
                {
                    self.drafts.remove(&(draft.thread, draft.writing));
                }
                if !matches!(step, Step::Read(_)) {
                    self.dialog = None;
                }
                self.notice = Some(Notice {
                    sort: Told::Done,
                    text,
                    hint: String::new(),
                });
            }
        }
        vec![Order::Look]
    }

    fn told(&self, step: &Step) -> String {
        match step {
            Step::Say {
                thread,
                is_answer: true,
                ..
            } => match self.ask(*thread) {
                Some(ask) => format!("answered: {} goes on", ask.waiting),
                None => format!("answered in {}", self.subject(*thread)),
            },
            Step::Say { thread, .. } => format!("sent to {}", self.subject(*thread)),
            Step::CallOff { thread, .. } => format!("called off: {}", self.subject(*thread)),
            Step::Give {
                thread,
                to: Some(to),
            } => format!("{} is for {to} now", self.subject(*thread)),
            Step::Give { thread, to: None } => format!("{} is open again", self.subject(*thread)),
            Step::Note { about, .. } => format!("noted on {about}"),
            Step::Read(messages) if messages.len() == 1 => "marked as read".to_owned(),
            Step::Read(_) => "everything is marked as read".to_owned(),
        }
    }
}
