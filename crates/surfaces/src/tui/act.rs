//! What keys do.

use inbox_core::ThreadId;

use super::app::{App, Draft, Order, Tab, Writing};
use super::clerk::{Filter, Step};
use super::dialog::Dialog;
use super::editor::Editor;
use super::keys::Key;
use super::lists::ItemKey;
use crate::person;

impl App {
    /// What a key does.
    pub(super) fn key(&mut self, key: &Key) -> Vec<Order> {
        match key {
            Key::Ctrl('z') => return vec![Order::Suspend],
            Key::Ctrl('l') => return vec![Order::Redraw, Order::Look],
            _ => {}
        }
        if let Some(dialog) = self.dialog.take() {
            return self.dialog_key(dialog, key);
        }
        if let Some(draft) = self.draft.take() {
            return self.draft_key(draft, key);
        }
        if self.doing.is_none() {
            self.notice = None;
        }
        match key {
            Key::Char('q') | Key::Ctrl('c') => self.leave(),
            Key::Char('?') => self.open(Dialog::Help),
            Key::Char('1') => self.go(Tab::You),
            Key::Char('2') => self.go(Tab::Agents),
            Key::Char('3') => self.go(Tab::Threads),
            Key::Tab => self.go(Tab::ALL[(self.tab as usize + 1) % 3]),
            Key::BackTab => self.go(Tab::ALL[(self.tab as usize + 2) % 3]),
            Key::Char('/') => {
                let words = Editor::of(&self.filter.query);
                self.open(Dialog::Search { words })
            }
            Key::Char('s') if self.tab == Tab::Threads => {
                self.filter.which = self.filter.which.next();
                self.found = None;
                self.go(Tab::Threads)
            }
            Key::Esc => self.back(),
            Key::Enter | Key::Char('l') | Key::Right => self.enter(),
            Key::Char('h') | Key::Left => {
                self.is_in_thread = false;
                Vec::new()
            }
            Key::Char('a') => self.write(Writing::Answer),
            Key::Char('r') => self.write(Writing::Reply),
            Key::Char('N') => self.note(),
            Key::Char('y') => self.decide(&["approve", "accept"]),
            Key::Char('n') => self.decide(&["reject", "refuse"]),
            Key::Char('d') => self.decide(&["dismiss"]),
            Key::Char('c') => self.on_thread(|app, thread| {
                app.open(Dialog::Give {
                    thread,
                    to: Editor::default(),
                    index: 0,
                });
                vec![Order::Look]
            }),
            Key::Char('x') => self.on_thread(|app, thread| {
                let reason = Editor::default();
                app.open(Dialog::CallOff { thread, reason })
            }),
            Key::Char('e') => match self.chosen() {
                Some(ItemKey::Mail(message, _)) if !self.is_in_thread => {
                    self.begin(Step::Read(vec![message]))
                }
                _ => {
                    self.say("e marks mail as read: choose a message first");
                    Vec::new()
                }
            },
            Key::Char('E') => self.begin(Step::Read(Vec::new())),
            key => self.travel(key),
        }
    }

    /// Moves in the list or in the thread.
    fn travel(&mut self, key: &Key) -> Vec<Order> {
        let page = isize::try_from(self.page()).unwrap_or(10);
        let far = isize::MAX / 2;
        let step = match key {
            Key::Char('j') | Key::Down | Key::Ctrl('n') => 1,
            Key::Char('k') | Key::Up | Key::Ctrl('p') => -1,
            Key::PageDown | Key::Char(' ') | Key::Ctrl('f') => page,
            Key::PageUp | Key::Ctrl('b') => -page,
            Key::Ctrl('d') => page / 2,
            Key::Ctrl('u') => -page / 2,
            Key::Char('g') | Key::Home => -far,
            Key::Char('G') | Key::End => far,
            // The thread beside the list moves without being entered.
            Key::Char('J') => {
                self.reading.scroll(1);
                return Vec::new();
            }
            Key::Char('K') => {
                self.reading.scroll(-1);
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        if self.is_in_thread {
            self.reading.scroll(step);
            return Vec::new();
        }
        let keys = self.items();
        self.cursor().go(&keys, step);
        if self.follow() {
            return vec![Order::Look];
        }
        Vec::new()
    }

    fn page(&self) -> usize {
        if self.is_in_thread {
            self.reading.height.saturating_sub(2).max(1)
        } else {
            usize::from(self.size.1 / 3).max(1)
        }
    }

    fn open(&mut self, dialog: Dialog) -> Vec<Order> {
        self.dialog = Some(dialog);
        Vec::new()
    }

    fn enter(&mut self) -> Vec<Order> {
        if self.is_in_thread {
            return Vec::new();
        }
        match self.chosen() {
            // What an agent has to do with is a list of threads.
            Some(ItemKey::Agent(agent)) => {
                self.filter = Filter {
                    agent: Some(agent),
                    ..Filter::default()
                };
                self.found = None;
                self.go(Tab::Threads)
            }
            Some(chosen) => {
                if let Some(id) = chosen.thread() {
                    self.read(id);
                    self.is_in_thread = true;
                }
                vec![Order::Look]
            }
            None => Vec::new(),
        }
    }

    fn back(&mut self) -> Vec<Order> {
        if self.is_in_thread {
            self.is_in_thread = false;
            return Vec::new();
        }
        let is_filtered = self.filter != Filter::default();
        if self.tab == Tab::Threads && is_filtered {
            self.filter = Filter::default();
            self.found = None;
            return self.go(Tab::Threads);
        }
        Vec::new()
    }

    fn leave(&mut self) -> Vec<Order> {
        let is_unsent = self.drafts.values().any(|draft| !draft.is_empty());
        if is_unsent {
            return self.open(Dialog::Leave);
        }
        vec![Order::Quit]
    }

    fn on_thread(&mut self, f: impl FnOnce(&mut Self, ThreadId) -> Vec<Order>) -> Vec<Order> {
        match self.target() {
            Some(thread) => f(self, thread),
            None => {
                self.say("choose a thread first: j and k move, Enter opens");
                Vec::new()
            }
        }
    }

    /// Begins to write, or goes on with what was begun.
    fn write(&mut self, writing: Writing) -> Vec<Order> {
        self.on_thread(|app, thread| {
            app.read(thread);
            let editor = app.drafts.get(&(thread, writing.clone()));
            app.draft = Some(Draft {
                thread,
                editor: editor.cloned().unwrap_or_default(),
                writing,
            });
            vec![Order::Look]
        })
    }

    fn note(&mut self) -> Vec<Order> {
        let thread = self.target().and_then(|id| self.thread(id));
        let about = thread.and_then(|thread| {
            let id = thread.ref_id.as_ref()?;
            Some(format!("{}:{id}", thread.ref_type?))
        });
        match about {
            Some(about) => self.write(Writing::Note(about)),
            None => {
                self.say(
                    "a note is about a task, a phase or the like, and this thread is about none",
                );
                Vec::new()
            }
        }
    }

    /// Approves, rejects and the like: the answer that is one of these words.
    fn decide(&mut self, words: &[&str]) -> Vec<Order> {
        let asked = self.target().and_then(|id| self.ask(id));
        let Some(ask) = asked else {
            self.say("nothing asks for a decision here: a answers, r replies");
            return Vec::new();
        };
        let thread = ask.thread.thread_id;
        let answers = person::answers(ask);
        let found = answers.iter().find(|(word, _)| words.contains(word));
        if let Some((word, name)) = found {
            let (word, name) = ((*word).to_owned(), (*name).to_owned());
            let reason = Editor::default();
            return self.open(Dialog::Decide {
                thread,
                word,
                name,
                reason,
            });
        }
        let names: Vec<&str> = answers.iter().map(|(_, name)| *name).collect();
        self.say(match names[..] {
            [] => "this asks for words, and not for a yes or no: a answers".to_owned(),
            _ => format!("it can only be: {}", names.join(", ").to_lowercase()),
        });
        Vec::new()
    }

    /// Begins a step, unless another is under way.
    pub(super) fn begin(&mut self, step: Step) -> Vec<Order> {
        if self.doing.is_some() {
            self.say("the last step is still under way");
            return Vec::new();
        }
        self.doing = Some(step.clone());
        self.say("sending …");
        vec![Order::Do(step)]
    }

    fn draft_key(&mut self, mut draft: Draft, key: &Key) -> Vec<Order> {
        match key {
            Key::Esc => {
                let key = (draft.thread, draft.writing);
                if draft.editor.is_empty() {
                    self.drafts.remove(&key);
                } else {
                    self.drafts.insert(key, draft.editor);
                    self.say("the draft is kept");
                }
                self.follow();
                return vec![Order::Look];
            }
            Key::Send | Key::Ctrl('s' | 'x') => {
                let orders = if draft.editor.is_empty() {
                    self.refused(&person::empty("an answer"));
                    Vec::new()
                } else {
                    // Kept until it is known to be sent.
                    let key = (draft.thread, draft.writing.clone());
                    self.drafts.insert(key, draft.editor.clone());
                    self.begin(draft.step())
                };
                self.draft = Some(draft);
                return orders;
            }
            Key::PageUp => self.reading.scroll(-3),
            Key::PageDown => self.reading.scroll(3),
            // While it is being sent it stays as it is.
            key if self.doing.is_none() => {
                draft.editor.key(key);
            }
            _ => {}
        }
        self.draft = Some(draft);
        Vec::new()
    }
}

impl Draft {
    fn step(&self) -> Step {
        let text = self.editor.text().trim().to_owned();
        match &self.writing {
            Writing::Note(about) => Step::Note {
                about: about.clone(),
                text,
            },
            writing => Step::Say {
                thread: self.thread,
                is_answer: *writing == Writing::Answer,
                word: None,
                body: Some(text),
            },
        }
    }
}
