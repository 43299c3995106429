//! What is drawn over the rest or below it: dialogs, and the text that is being written.

use inbox_core::ThreadId;
use inbox_ops::Ask;
use ratatui_core::buffer::Buffer;
use ratatui_core::layout::{Position, Rect};
use ratatui_core::text::{Line, Span};

use super::app::{App, Draft, Writing};
use super::deal::carried;
use super::dialog::{Dialog, choices};
use super::editor::Editor;
use super::paint::{
    self, ALARM, BOLD, DIM, HEADING, PLAIN, cut, framed, safe, span, spread, wrapped,
};
use super::payload::beginning;

/// The most columns of a dialog.
const DIALOG: u16 = 72;

/// What keys there are.
const HELP: &[(&str, &str)] = &[
    ("1 2 3, Tab", "For you, Agents, Threads"),
    ("j k, ↓ ↑", "move; Space by pages, g G to the ends"),
    ("Enter, Esc", "open what is chosen, and go back"),
    ("a", "answer: whoever waits goes on"),
    ("r", "reply, without answering"),
    ("y n d", "approve, reject, dismiss; accept, refuse"),
    ("c", "claim for: give the work to another"),
    ("x", "call it off"),
    ("e E", "mark a message, or all mail, as read"),
    ("N", "note on what the thread is about"),
    ("/ s", "search; threads by where they stand"),
    ("J K", "move the thread beside the list"),
    ("q", "leave; Ctrl-Z for a while"),
];

impl App {
    pub(super) fn draw_draft(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        draft: &Draft,
    ) -> Option<Position> {
        let subject = safe(&self.subject(draft.thread));
        let title = match &draft.writing {
            Writing::Answer => match self.ask(draft.thread) {
                Some(ask) => format!("Answer {}: {subject}", ask.waiting),
                None => format!("Answer: {subject}"),
            },
            Writing::Reply => format!("Reply: {subject}"),
            Writing::Note(about) => format!("Note on {}", safe(about)),
        };
        let inner = framed(buffer, area, &title, HEADING);
        let (rows, (row, column)) = draft.editor.laid_out(usize::from(inner.width));
        let height = usize::from(inner.height).max(1);
        let top = (row + 1).saturating_sub(height);
        for (at, text) in (0..).zip(rows.iter().skip(top).take(height)) {
            paint::line(buffer, inner, at, &Line::raw(safe(text)));
        }
        place(inner, row - top, column)
    }

    pub(super) fn draw_dialog(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        dialog: &Dialog,
    ) -> Option<Position> {
        match dialog {
            Dialog::Help => {
                let height = u16::try_from(HELP.len()).unwrap_or(u16::MAX) + 2;
                let inner = framed(buffer, middle(area, height), "Keys", HEADING);
                for (row, (keys, what)) in (0..).zip(HELP) {
                    let line = Line::from(vec![
                        Span::styled(format!("{keys:<12}"), BOLD),
                        Span::raw(*what),
                    ]);
                    paint::line(buffer, inner, row, &line);
                }
                None
            }
            Dialog::Leave => {
                let inner = framed(buffer, middle(area, 4), "Leave?", ALARM);
                let text = "Something that you wrote is not sent.";
                paint::line(buffer, inner, 0, &Line::raw(text));
                let text = "Enter leaves without it, Esc stays";
                paint::line(buffer, inner, 1, &Line::styled(text, DIM));
                None
            }
            Dialog::Decide {
                thread,
                name,
                reason,
                ..
            } => {
                let title = format!("{name}?");
                let width = usize::from(middle(area, 0).width.saturating_sub(4));
                let mut about = vec![safe(&self.subject(*thread))];
                // Nobody should say yes to what is not in sight.
                if let Some(Ask { message, .. }) = self.ask(*thread) {
                    about = wrapped(&safe(&message.summary), width);
                    about.extend(wrapped(beginning(&message.body, 4_000), width));
                    let entries = carried(message, self.now, width);
                    about.extend(entries.into_iter().map(|entry| entry.text));
                }
                let hint = format!("Enter: {}. A word beside it:", name.to_lowercase());
                asked(buffer, area, &title, &about, &hint, reason)
            }
            Dialog::CallOff { thread, reason } => {
                let subject = [safe(&self.subject(*thread))];
                let hint = "Enter calls it off; whoever holds it is told. Why:";
                asked(buffer, area, "Call it off?", &subject, hint, reason)
            }
            Dialog::Search { words } => {
                let hint = "Words that messages have, or \"a phrase\":";
                asked(buffer, area, "Search", &[], hint, words)
            }
            Dialog::Give { thread, to, index } => self.draw_give(buffer, area, *thread, to, *index),
        }
    }

    fn draw_give(
        &self,
        buffer: &mut Buffer,
        area: Rect,
        thread: ThreadId,
        to: &Editor,
        index: usize,
    ) -> Option<Position> {
        let found = choices(self.agents.as_ref(), &to.text());
        let height = area.height.saturating_sub(4).min(14);
        let title = format!("Claim for: {}", safe(&self.subject(thread)));
        let inner = framed(buffer, middle(area, height), &title, HEADING);
        let cursor = field(buffer, inner, 0, to);
        let room = usize::from(inner.height.saturating_sub(2));
        let top = (index + 1).saturating_sub(room);
        for (row, (at, choice)) in (1..).zip(found.iter().enumerate().skip(top).take(room)) {
            let (mark, style) = if at == index {
                ("▌ ", BOLD)
            } else {
                ("  ", PLAIN)
            };
            let line = spread(
                vec![Span::styled(mark, HEADING), span(&choice.address, style)],
                vec![span(&choice.about, DIM)],
                usize::from(inner.width),
            );
            paint::line(buffer, inner, row, &line);
        }
        let hint = match (self.agents.is_some(), found.is_empty()) {
            (false, _) => "looking …",
            (true, true) => "Enter gives it to what is typed",
            (true, false) => "↑ ↓ choose · Enter gives it · ^T takes it back",
        };
        let last = inner.height.saturating_sub(1);
        paint::line(
            buffer,
            inner,
            last,
            &Line::styled(cut(hint, usize::from(inner.width)), DIM),
        );
        cursor
    }
}

/// The middle of an area, so high.
fn middle(area: Rect, height: u16) -> Rect {
    let width = area.width.saturating_sub(4).min(DIALOG);
    let height = height.min(area.height);
    Rect::new(
        (area.width - width) / 2,
        (area.height - height) / 2,
        width,
        height,
    )
}

/// A dialog with one line to write, below what it is about.
fn asked(
    buffer: &mut Buffer,
    area: Rect,
    title: &str,
    about: &[String],
    hint: &str,
    editor: &Editor,
) -> Option<Position> {
    let most = usize::from(area.height.saturating_sub(6)).max(1);
    let count = u16::try_from(about.len().min(most)).unwrap_or(1);
    let inner = framed(buffer, middle(area, count + 4), title, HEADING);
    let width = usize::from(inner.width);
    for (row, text) in (0..count).zip(about) {
        let is_cut = row + 1 == count && about.len() > usize::from(count);
        let style = if row == 0 { BOLD } else { PLAIN };
        let line = if is_cut {
            Line::styled("… more: Esc, and Enter opens the thread", ALARM)
        } else {
            Line::styled(cut(text, width), style)
        };
        paint::line(buffer, inner, row, &line);
    }
    let hint = Line::styled(cut(hint, width), DIM);
    paint::line(buffer, inner, inner.height.saturating_sub(2), &hint);
    field(buffer, inner, inner.height.saturating_sub(1), editor)
}

/// One line that is written, its end in sight.
fn field(buffer: &mut Buffer, area: Rect, row: u16, editor: &Editor) -> Option<Position> {
    let room = usize::from(area.width.saturating_sub(2));
    let (rows, (at, column)) = editor.laid_out(room);
    let text = rows.get(at).map_or("", String::as_str);
    let line = Line::from(vec![Span::styled("› ", HEADING), Span::raw(safe(text))]);
    paint::line(buffer, area, row, &line);
    place(area, usize::from(row), column + 2)
}

fn place(area: Rect, row: usize, column: usize) -> Option<Position> {
    let row = u16::try_from(row).ok()?;
    let column = u16::try_from(column)
        .ok()?
        .min(area.width.saturating_sub(1));
    Some(Position::new(area.x + column, area.y + row))
}
