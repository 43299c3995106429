//! What stands before the rest: a decision with its reason, whom to give work to, words to search for, help.

use inbox_core::{AgentKind, SessionState, ThreadId};
use inbox_ops::Agents;

use super::app::{App, Order};
use super::clerk::Step;
use super::editor::Editor;
use super::keys::Key;

/// A dialog.
#[derive(Debug)]
pub(super) enum Dialog {
    Help,
    /// Approve, reject and the like.
    Decide {
        thread: ThreadId,
        word: String,
        name: String,
        reason: Editor,
    },
    CallOff {
        thread: ThreadId,
        reason: Editor,
    },
    Give {
        thread: ThreadId,
        to: Editor,
        index: usize,
    },
    Search {
        words: Editor,
    },
    /// Leave, although something is not sent.
    Leave,
}

/// Whom work can be given to: who is there first.
pub(super) fn choices(agents: Option<&Agents>, typed: &str) -> Vec<Choice> {
    let typed = typed.trim().to_lowercase();
    let Some(found) = agents else {
        return Vec::new();
    };
    let mut all: Vec<(u8, Choice)> = Vec::new();
    let mut roles: Vec<String> = Vec::new();
    for (agent, work) in found.agents.iter().zip(&found.work) {
        if agent.kind != AgentKind::Agent {
            continue;
        }
        let (word, mark) = crate::person::state_mark(agent.state);
        let rank = match agent.state {
            Some(SessionState::Alive) => 0,
            Some(SessionState::Frozen) => 2,
            _ => 3,
        };
        let holds = match work.holds.len() {
            0 => "nothing to do".to_owned(),
            1 => "holds 1 thread".to_owned(),
            count => format!("holds {count} threads"),
        };
        let address = agent.agent_id.to_string();
        let about = format!("{mark} {word}, {holds}");
        all.push((rank, Choice { address, about }));
        roles.extend(agent.roles.iter().map(|role| format!("role:{role}")));
    }
    roles.sort();
    roles.dedup();
    all.extend(roles.into_iter().map(|address| {
        let about = "whoever of them claims it".to_owned();
        (1, Choice { address, about })
    }));
    all.retain(|(_, choice)| choice.address.to_lowercase().contains(&typed));
    all.sort_by_key(|(rank, choice)| {
        let is_inside = !choice.address.to_lowercase().starts_with(&typed);
        (is_inside, *rank, choice.address.clone())
    });
    all.into_iter().map(|(_, choice)| choice).collect()
}

/// An address, and what there is to know of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) address: String,
    pub(super) about: String,
}

/// One line of text, which Enter ends.
fn one_line(editor: &mut Editor, key: &Key) {
    match key {
        Key::Enter | Key::Up | Key::Down | Key::Tab => {}
        Key::Paste(text) => {
            let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
            editor.insert(&line);
        }
        key => drop(editor.key(key)),
    }
}

fn text(editor: &Editor) -> Option<String> {
    let text = editor.text().trim().to_owned();
    (!text.is_empty()).then_some(text)
}

impl App {
    /// What a key does in a dialog.
    pub(super) fn dialog_key(&mut self, mut dialog: Dialog, key: &Key) -> Vec<Order> {
        if *key == Key::Esc || *key == Key::Ctrl('c') {
            // Words to search for that are left are searched for no more.
            return Vec::new();
        }
        let mut orders = Vec::new();
        match &mut dialog {
            // Any key ends it.
            Dialog::Help => return orders,
            Dialog::Leave => {
                if matches!(key, Key::Enter | Key::Char('y' | 'q')) {
                    orders.push(Order::Quit);
                }
                return orders;
            }
            Dialog::Decide {
                thread,
                word,
                reason,
                ..
            } => {
                if matches!(key, Key::Enter | Key::Send | Key::Ctrl('s')) {
                    orders = self.begin(Step::Say {
                        thread: *thread,
                        is_answer: true,
                        word: Some(word.clone()),
                        body: text(reason),
                    });
                } else {
                    one_line(reason, key);
                }
            }
            Dialog::CallOff { thread, reason } => {
                if matches!(key, Key::Enter | Key::Send | Key::Ctrl('s')) {
                    orders = self.begin(Step::CallOff {
                        thread: *thread,
                        reason: text(reason),
                    });
                } else {
                    one_line(reason, key);
                }
            }
            Dialog::Give { thread, to, index } => {
                let found = choices(self.agents.as_ref(), &to.text());
                let last = found.len().saturating_sub(1);
                *index = (*index).min(last);
                match key {
                    Key::Down | Key::Ctrl('n') => *index = (*index + 1).min(last),
                    Key::Up | Key::Ctrl('p') => *index = index.saturating_sub(1),
                    Key::Tab => {
                        if let Some(choice) = found.get(*index) {
                            *to = Editor::of(&choice.address);
                            *index = 0;
                        }
                    }
                    // Back to those whom it was for.
                    Key::Ctrl('t') => {
                        let thread = *thread;
                        orders = self.begin(Step::Give { thread, to: None });
                    }
                    Key::Enter => {
                        let chosen = found.get(*index).map(|choice| choice.address.clone());
                        match chosen.or_else(|| text(to)) {
                            Some(to) => {
                                let (thread, to) = (*thread, Some(to));
                                orders = self.begin(Step::Give { thread, to });
                            }
                            None => self.say("type whom it is for"),
                        }
                    }
                    key => {
                        one_line(to, key);
                        *index = 0;
                    }
                }
            }
            Dialog::Search { words } => {
                if *key == Key::Enter {
                    self.filter.query = text(words).unwrap_or_default();
                    self.found = None;
                    self.cursor().top = 0;
                    return self.go(super::app::Tab::Threads);
                }
                one_line(words, key);
            }
        }
        self.dialog = Some(dialog);
        orders
    }
}
