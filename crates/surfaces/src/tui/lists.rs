//! The three lists: what stands in them, and what is chosen.

use inbox_core::{AgentKind, AgentName, Message, MessageId, Priority, SessionState, ThreadId};
use inbox_ops::Ask;
use ratatui_core::text::{Line, Span};

use super::app::{App, Tab};
use super::clerk::Found;
use super::paint::{DIM, HEADING};
use super::rows::{ONE_LINE, agent_row, ask_row, held_row, hit_row, mail_row, thread_row};

/// What can be chosen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ItemKey {
    Ask(ThreadId),
    Mail(MessageId, ThreadId),
    Agent(AgentName),
    Thread(ThreadId),
}

impl ItemKey {
    pub(super) fn thread(&self) -> Option<ThreadId> {
        match self {
            ItemKey::Ask(thread) | ItemKey::Mail(_, thread) | ItemKey::Thread(thread) => {
                Some(*thread)
            }
            ItemKey::Agent(_) => None,
        }
    }
}

/// Where a list stands: at one of its items, by what it is and by where it was.
#[derive(Debug, Default)]
pub(super) struct Cursor {
    key: Option<ItemKey>,
    index: usize,
    /// The first line that is seen.
    pub(super) top: usize,
}

impl Cursor {
    /// What is chosen among these: the same as before, or what has its place now.
    pub(super) fn settled(&self, keys: &[ItemKey]) -> Option<ItemKey> {
        keys.get(self.at(keys)).cloned()
    }

    fn at(&self, keys: &[ItemKey]) -> usize {
        let found = keys.iter().position(|key| Some(key) == self.key.as_ref());
        found.unwrap_or(self.index.min(keys.len().saturating_sub(1)))
    }

    pub(super) fn go(&mut self, keys: &[ItemKey], step: isize) {
        let last = keys.len().saturating_sub(1);
        self.index = self.at(keys).saturating_add_signed(step).min(last);
        self.key = keys.get(self.index).cloned();
    }

    /// Remembers where what is chosen stands.
    pub(super) fn settle(&mut self, keys: &[ItemKey]) {
        self.go(keys, 0);
    }
}

/// A part of a list.
pub(super) enum Row {
    Text(Line<'static>),
    Item(ItemKey, Vec<Line<'static>>),
}

fn heading(text: &str, count: usize) -> Row {
    let count = Span::styled(format!(" {count}"), DIM);
    let text = Span::styled(text.to_owned(), HEADING);
    Row::Text(Line::from(vec![text, count]))
}

fn blank() -> Row {
    Row::Text(Line::default())
}

impl App {
    /// What can be chosen in the list of now.
    pub(super) fn items(&self) -> Vec<ItemKey> {
        let rows = self.rows(ONE_LINE);
        let keys = rows.into_iter().filter_map(|row| match row {
            Row::Item(key, _) => Some(key),
            Row::Text(_) => None,
        });
        keys.collect()
    }

    /// The list of now, for a width.
    pub(super) fn rows(&self, width: usize) -> Vec<Row> {
        match self.tab {
            Tab::You => self.you(width),
            Tab::Agents => self.roster(width),
            Tab::Threads => self.threads(width),
        }
    }

    fn you(&self, width: usize) -> Vec<Row> {
        let Some(desk) = &self.desk else {
            return vec![quiet("looking …")];
        };
        let (mut urgent, mut notes, mut rest) = (Vec::new(), Vec::new(), Vec::new());
        for message in &desk.mail {
            let sort = message.message_type.as_deref().unwrap_or_default();
            if message.priority <= Priority::High {
                urgent.push(message);
            } else if sort.rsplit('.').next() == Some("note") {
                notes.push(message);
            } else {
                rest.push(message);
            }
        }
        let mut rows = Vec::new();
        let mut asks = |name: &str, asks: &[Ask]| {
            if !asks.is_empty() {
                rows.push(heading(name, asks.len()));
                rows.extend(asks.iter().map(|ask| ask_row(ask, self.now, width)));
                rows.push(blank());
            }
        };
        asks("Waiting for your answer", &desk.asks);
        let mut mail = |name: &str, mail: &[&Message]| {
            if !mail.is_empty() {
                rows.push(heading(name, mail.len()));
                rows.extend(
                    mail.iter()
                        .map(|message| mail_row(message, self.now, width)),
                );
                rows.push(blank());
            }
        };
        mail("Urgent", &urgent);
        if !desk.elsewhere.is_empty() {
            rows.push(heading("Blocked on others", desk.elsewhere.len()));
            rows.extend(
                desk.elsewhere
                    .iter()
                    .map(|ask| ask_row(ask, self.now, width)),
            );
            rows.push(blank());
        }
        let mut mail = |name: &str, mail: &[&Message]| {
            if !mail.is_empty() {
                rows.push(heading(name, mail.len()));
                rows.extend(
                    mail.iter()
                        .map(|message| mail_row(message, self.now, width)),
                );
                rows.push(blank());
            }
        };
        mail("Notes", &notes);
        mail("Mail", &rest);
        if desk.mail_after.is_some() {
            rows.push(quiet("… and more: e and E mark mail as read"));
        }
        if rows.is_empty() {
            rows.push(quiet("Nothing waits for you."));
            rows.push(quiet(
                "What agents ask, and what is sent to you, appears here.",
            ));
        }
        rows
    }

    fn roster(&self, width: usize) -> Vec<Row> {
        let Some(found) = &self.agents else {
            return vec![quiet("looking …")];
        };
        let (mut alive, mut away, mut people) = (Vec::new(), Vec::new(), Vec::new());
        for (agent, work) in found.agents.iter().zip(&found.work) {
            let is_there = matches!(
                agent.state,
                Some(SessionState::Alive | SessionState::Frozen)
            );
            match agent.kind {
                AgentKind::Human => people.push((agent, work)),
                _ if is_there || !work.holds.is_empty() => alive.push((agent, work)),
                _ => away.push((agent, work)),
            }
        }
        let mut rows = Vec::new();
        for (name, agents) in [("Here now", alive), ("Away", away), ("People", people)] {
            if agents.is_empty() {
                continue;
            }
            rows.push(heading(name, agents.len()));
            for (agent, work) in agents {
                rows.push(agent_row(agent, work, self.now, width));
                let holds = work.holds.iter();
                rows.extend(holds.map(|held| held_row(held, self.now, width)));
            }
            rows.push(blank());
        }
        if rows.is_empty() {
            rows.push(quiet("No agent has written or read anything yet."));
            rows.push(quiet(
                "inbox setup gives this inbox to the agents on this machine.",
            ));
        }
        rows
    }

    fn threads(&self, width: usize) -> Vec<Row> {
        let Some(found) = &self.found else {
            return vec![quiet("looking …")];
        };
        let is_cut = match found {
            Found::Threads(found) => found.truncated,
            Found::Hits(found) => found.truncated,
        };
        let mut rows: Vec<Row> = match found {
            Found::Threads(found) => {
                let threads = found.threads.iter();
                threads
                    .map(|thread| thread_row(thread, self.now, width))
                    .collect()
            }
            Found::Hits(found) => found
                .hits
                .iter()
                .map(|hit| hit_row(hit, self.now, width))
                .collect(),
        };
        if rows.is_empty() {
            rows.push(quiet("Nothing is like that."));
        } else if is_cut {
            rows.push(quiet("… and more: / searches for words"));
        }
        rows
    }
}

fn quiet(text: &str) -> Row {
    Row::Text(Line::styled(text.to_owned(), DIM))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_chosen_stays_chosen_and_when_it_goes_the_next_has_its_place() {
        let key = |number: i64| ItemKey::Thread(format!("thr_{number}").parse().unwrap());
        let mut cursor = Cursor::default();
        let all = [key(1), key(2), key(3)];
        cursor.go(&all, 1);
        assert_eq!(cursor.settled(&all), Some(key(2)));
        let more = [key(9), key(1), key(2), key(3)];
        assert_eq!(cursor.settled(&more), Some(key(2)));
        cursor.settle(&more);
        let fewer = [key(9), key(1), key(3)];
        assert_eq!(cursor.settled(&fewer), Some(key(3)));
        assert_eq!(cursor.settled(&[]), None);
        cursor.go(&[], 1);
    }
}
